-- The roles and their rights, as they are after the last migration. Every `hence store migrate` applies this file, so that roles which
-- were made later get their rights.
do $$
declare
    wanted text;
begin
    foreach wanted in array array['hence_writer', 'hence_reader', 'hence_auditor'] loop
        if not exists (select from pg_roles where rolname = wanted) then
            begin
                execute format('create role %I nologin', wanted);
            exception
                when insufficient_privilege or duplicate_object or unique_violation then null;
            end;
        end if;
    end loop;
    -- Who does not own the tables cannot grant; the owner's next migration does.
    begin
        foreach wanted in array array['hence_writer', 'hence_reader', 'hence_auditor'] loop
            if exists (select from pg_roles where rolname = wanted) then
                execute format('grant usage on schema {schema} to %I', wanted);
                execute format('grant select on all tables in schema {schema} to %I', wanted);
            end if;
        end loop;
        if exists (select from pg_roles where rolname = 'hence_writer') then
            grant insert on {schema}.section, {schema}.run, {schema}.record, {schema}.blob, {schema}.blob_part, {schema}.tombstone
                to hence_writer;
            grant update (epoch, holder, lease_token, lease_until, head_count, head_hash, journal_bytes, updated_at, created_at)
                on {schema}.run to hence_writer;
            grant insert, update, delete on {schema}.attachment, {schema}.attachment_part, {schema}.cached_view, {schema}.queue_row
                to hence_writer;
            grant update (version, forgotten) on {schema}.queue to hence_writer;
            grant usage on sequence {schema}.attachment_revision to hence_writer;
            grant execute on function {schema}.remove_run(bigint, bigint, bytea, bytea) to hence_writer;
            grant execute on function {schema}.remove_blob(integer, bytea) to hence_writer;
        end if;
    exception
        when insufficient_privilege then null;
    end;
end
$$;
