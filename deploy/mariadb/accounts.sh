# Sourced by the image's entry point once, when the database is new; docker_process_sql is the entry point's.
owner_password=$(cat "${SECRETS:-/run/secrets}/database_owner_password")
service_password=$(cat "${SECRETS:-/run/secrets}/database_password")
{
    printf "SET @owner_password = '%s', @service_password = '%s';\n" "$owner_password" "$service_password"
    cat "${ACCOUNTS:-/etc/assay/accounts.sql}"
} | docker_process_sql
unset owner_password service_password
