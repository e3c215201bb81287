-- Large values in a bucket. A row says where the bytes of a value are; a value without a place is in the parts.
alter table {schema}.blob add column place text;

-- Facts about the whole store. The name of the store separates its objects from those of others in the same bucket.
create table {schema}.setting (
    name text primary key,
    value text not null
);
insert into {schema}.setting (name, value) values ('store', gen_random_uuid()::text);

do $$
declare
    wanted text;
begin
    foreach wanted in array array['hence_writer', 'hence_reader', 'hence_auditor'] loop
        if exists (select from pg_roles where rolname = wanted) then
            execute format('grant select on {schema}.setting to %I', wanted);
        end if;
    end loop;
end
$$;
