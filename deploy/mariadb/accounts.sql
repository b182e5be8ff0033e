-- The owner of the tables, for migrations alone, and the service, which only reads and writes their rows.
-- Needs @owner_password and @service_password; accounts.sh gives them.
EXECUTE IMMEDIATE CONCAT('CREATE USER assay_owner@''%'' IDENTIFIED BY ', QUOTE(@owner_password));
EXECUTE IMMEDIATE CONCAT('CREATE USER assay@''%'' IDENTIFIED BY ', QUOTE(@service_password));
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES, TRIGGER ON assay.* TO assay_owner@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON assay.* TO assay@'%';
