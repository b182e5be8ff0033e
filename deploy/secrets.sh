#!/bin/sh
# Makes the secrets that compose.yaml mounts, each in a file of its own; what is there already is kept.
#   deploy/secrets.sh [FOLDER]      (default: deploy/secrets)
# DATABASE and REDIS are where the servers listen, as HOST:PORT.
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
cd "$folder"
# The folder keeps others of this machine out; the files must be readable by the users inside the containers.
chmod 700 .
umask 022

random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
keep() { [ -e "$1" ] || printf '%s\n' "$2" >"$1"; }

for name in database_root_password database_owner_password database_password redis_password grafana_password \
    assay_secret_key assay_state_key; do
    keep "$name" "$(random)"
done
keep redis_auth.conf "requirepass $(cat redis_password)"
keep assay_database_url "mysql://assay:$(cat database_password)@${DATABASE:-database:3306}/assay"
keep assay_owner_database_url "mysql://assay_owner:$(cat database_owner_password)@${DATABASE:-database:3306}/assay"
keep assay_broker_url "redis://:$(cat redis_password)@${REDIS:-redis:6379}/0"
# Empty: no such channel, and nobody outside who waits for the scheduler.
for name in assay_email_url assay_webhook_url assay_webhook_secret assay_heartbeat_url; do
    keep "$name" ""
done
