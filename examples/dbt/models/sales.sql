{{ config(
    materialized='external',
    location=var('lake') ~ '/sales',
    options={'partition_by': 'datestr', 'overwrite_or_ignore': true},
    meta={'assay': 'mart.sales'},
) }}
select order_id, amount, '{{ var("day") }}' as datestr from {{ source('raw', 'orders') }}
