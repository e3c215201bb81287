# Gives each failed request of requests.log as an item of evidence.
#
# What the step can see comes as JSON on standard input: the problem, and what earlier steps produced. This one needs
# none of it, but reads it to the end so that nobody writes to a closed pipe.
cat > /dev/null

exec awk '
    # time method path status duration message…
    $4 >= 500 {
        message = ""
        for (field = 6; field <= NF; field++) message = message (field > 6 ? " " : "") $field
        gsub(/["\\]/, "\\\\&", message)
        item = sprintf("{\"id\":\"line-%d\",\"source\":\"requests.log:%d\",\"at\":\"%s\",\"supports\":[\"failed\"],\"claim\":\"%s %s answered %s after %s: %s\"}",
            NR, NR, $1, $2, $3, $4, $5, message)
        items = items (items == "" ? "" : ",") item
    }
    END { printf "{\"evidence\":[%s]}\n", items }
' requests.log
