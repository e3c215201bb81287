-- Lists of runs by their creation, the newest first: a page costs what is on it, however many runs there are.
--
-- An append changes neither column, so it still changes the row in place and no index.
create index run_created on {schema}.run (section, created_at desc, key desc);

-- A run that is copied or imported is listed by the time of its creation elsewhere.
do $$
begin
    if exists (select from pg_roles where rolname = 'hence_writer') then
        grant update (created_at) on {schema}.run to hence_writer;
    end if;
end
$$;
