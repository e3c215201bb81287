#!/bin/sh
# Pays one invoice: reads it from standard input, writes a line to paid.log, and answers a second later, as a slow bank would.
read -r invoice
echo "$HENCE_IDEMPOTENCY_KEY $invoice" >> paid.log
sleep 1
echo '{"paid": true}'
