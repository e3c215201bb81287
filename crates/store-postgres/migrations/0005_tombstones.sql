-- Every tombstone of an id stays, and only the holder of a run's lease removes the run.

-- A run that was imported again after its removal and removed again has two tombstones. The newest is read first.
drop index {schema}.tombstone_id;
create index tombstone_id on {schema}.tombstone (section, sha256(id), removed_at);

-- Removes a run and leaves its tombstone. The caller holds the lease: it knows the fence and the token of the row as it is now. The
-- tombstone is added, and no earlier one changes.
drop function {schema}.remove_run(bigint, bigint, bytea);
create function {schema}.remove_run(run_key bigint, run_epoch bigint, run_token bytea, run_stone bytea) returns boolean
language plpgsql security definer set search_path = {schema}, pg_temp as $$
declare
    removed {schema}.run%rowtype;
begin
    select * into removed from {schema}.run r
        where r.key = run_key and r.epoch = run_epoch and r.lease_token = run_token and r.lease_until > clock_timestamp()
        for update;
    if not found then
        return false;
    end if;
    if run_stone is null or length(run_stone) = 0 then
        raise exception 'a run is not removed without a tombstone';
    end if;
    insert into {schema}.tombstone (section, id, stone) values (removed.section, removed.id, run_stone);
    delete from {schema}.cached_view v where v.run = run_key;
    delete from {schema}.attachment_part p where p.run = run_key;
    delete from {schema}.attachment a where a.run = run_key;
    delete from {schema}.record c where c.run = run_key;
    delete from {schema}.run r where r.key = run_key;
    return true;
end
$$;
revoke all on function {schema}.remove_run(bigint, bigint, bytea, bytea) from public;

do $$
begin
    if exists (select from pg_roles where rolname = 'hence_writer') then
        grant execute on function {schema}.remove_run(bigint, bigint, bytea, bytea) to hence_writer;
    end if;
end
$$;
