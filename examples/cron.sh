#!/bin/sh
# A job that cron starts: it waits for good input, works, and has its output judged.
#
#   15 5 * * *  /opt/shop/cron.sh >>/var/log/sales.log 2>&1
#
# cron gives a job almost no environment, so everything is named here, or before the command in the crontab.
# Exit: 0 done and good, 2 done with warnings, 1 the input or the output is bad, 3 Assay could not be asked.
set -eu

ASSAY=${ASSAY:-/opt/assay/.venv/bin/assay}
ASSAY_HOME=${ASSAY_HOME:-/var/lib/assay}
JOB=${JOB:-/opt/shop/make_sales}
PIPELINE=${PIPELINE:-sales}
INPUT=${INPUT:-raw.orders}
OUTPUT=${OUTPUT:-mart.sales}
PATIENCE=${PATIENCE:-2h}
DAY=${1:-$(date -u -d yesterday +%Y-%m-%d)} # GNU date; on BSD: date -u -v-1d +%Y-%m-%d
export ASSAY_HOME

code=0
"$ASSAY" gate "$INPUT" --window "$DAY" --pipeline "$PIPELINE" --wait "$PATIENCE" || code=$?
case $code in
0 | 2) ;; # allowed; a warning stands in the log
*)
    echo "$PIPELINE does not run for $DAY: the gate of $INPUT has said $code" >&2
    exit "$code"
    ;;
esac

"$JOB" "$DAY"

exec "$ASSAY" completed "$PIPELINE" --output "$OUTPUT=$DAY" --wait 10m
