-- The queue of work. It names runs and holds no truth about them.

-- One row: whoever changes the queue locks it, so changes have one order, and each has a number.
create table {schema}.queue (
    only_row boolean primary key default true check (only_row),
    -- The number of the last change.
    version bigint not null default 0,
    -- Rows that are gone are forgotten up to this change; whoever knows an older state reads everything again.
    forgotten bigint not null default 0
) with (fillfactor = 50);
insert into {schema}.queue default values;

-- The rows of the queue as JSON, each with the change that it was written by.
create table {schema}.queue_row (
    -- The SHA-256 of the key's JSON: keys are longer than an index entry may be.
    key bytea primary key check (length(key) = 32),
    content text not null,
    is_gone boolean not null,
    version bigint not null
) with (fillfactor = 50);
create index queue_row_version on {schema}.queue_row (version);

do $$
declare
    wanted text;
begin
    foreach wanted in array array['hence_writer', 'hence_reader', 'hence_auditor'] loop
        if exists (select from pg_roles where rolname = wanted) then
            execute format('grant select on {schema}.queue, {schema}.queue_row to %I', wanted);
        end if;
    end loop;
    if exists (select from pg_roles where rolname = 'hence_writer') then
        grant update (version, forgotten) on {schema}.queue to hence_writer;
        grant insert, update, delete on {schema}.queue_row to hence_writer;
    end if;
end
$$;
