"""Joins that multiply, and values that double, are refused behind subqueries, in lambdas and through names too."""

import pytest

from execution_engine.guard import UnableToAllow, read_query

COLUMNS = ["id", "city", "d", "tags", "k", "n", "r"]
JOINS = """
select count(*) from (select 0 as k from t) a join (select 0 as k from u) b on a.k = b.k
select count(*) from (select id % 1 as k from t) a join u b on a.k = b.id
select count(*) from t a join (select id * 0 as k from u) b on a.id = b.k
with a as (select 1 as k, id from t), b as (select 1 as k from u) select count(*) from a join b on a.k = b.k
with a(k) as (select 1 from t), b(k) as (select 1 from u) select count(*) from a join b on a.k = b.k
with a(k) as (select 1 from t), b(k) as (select 1 from u) select count(*) from a join b using (k)
select count(*) from (select 0 as k from t) a join (select 0 as k from u) b using (k)
select count(*) from (select k from (select 0 as k from t) x) a join (select k from (select 0 k from u)) b on a.k = b.k
select count(*) from (select * from (select 0 as k from t)) a join (select * from (select 0 as k from u)) b on a.k = b.k
select count(*) from (select 0 as k from t union all select id from u) a join (select 0 as k from u) b on a.k = b.k
select count(*) from (select id as k from t union all select 0 from u) a join (select id as k from u) b on a.k = b.k
select count(*) from (select count(*) k from t group by id) a join (select count(*) k from u group by id) b on a.k = b.k
select count(*) from (select max(0) as k from t group by id) a join (select id as k from u) b on a.k = b.k
select count(*) from (select substr(city, 1, 0) k from t) a join (select substr(city, 1, 0) k from u) b on a.k = b.k
select count(*) from (select if(id > 0, 1, 1) as k from t) a, (select 1 as k from u) b where a.k = b.k
select count(*) from (select t.k from (select 1 as k from t) t) a join u b on a.k = b.id
select count(*) from t a join u b on substr(a.city, 1, 0) = substr(b.city, 1, 0)
select count(*) from t a join u b on coalesce('a', a.city) = coalesce('a', b.city)
select count(*) from t a join u b on lpad(a.city, 0) = lpad(b.city, 0)
select count(*) from t a join u b on cast(a.id as boolean) = cast(b.id as boolean)
select count(*) from t a join u b on regexp_replace(a.city, '.*', '') = regexp_replace(b.city, '.*', '')
select count(*) from t a join u b on date_trunc('millennium', a.d) = date_trunc('millennium', b.d)
select count(*) from t a join u b on date_format(a.d, 'G') = date_format(b.d, 'G')
"""
DOUBLINGS = """
select max(aggregate(sequence(1, 10000), 'a', (x, y) -> concat(x, x))) from t
select max(aggregate(sequence(1, 10000), 'a', (x, y) -> x || x)) from t
select max(reduce(sequence(1, 10000), 'a', (x, y) -> hex(x))) from t
select max(aggregate(sequence(1, 10000), 'a', (x, y) -> replace(x, 'a', 'aa'))) from t
select max(aggregate(sequence(1, 10000), 'a', (x, y) -> repeat(x, 2))) from t
select max(aggregate(sequence(1, 1000), array(1), (x, y) -> flatten(array(x, x)))) from t
select max(aggregate(sequence(1, 1000), array(1), (x, y) -> concat(x, x))) from t
select max(aggregate(sequence(1, 1000), array(1), (x, y) -> flatten(transform(x, z -> x)))) from t
select max(aggregate(sequence(1, 1000), 'a', (x, y) -> concat_ws(x, 'a', 'b', 'c'))) from t
select max(aggregate(sequence(1, 1000), 'a', (x, y) -> if(y > 3, concat(x, 'b', x), x))) from t
select max(hex(hex(hex(hex(hex(hex(hex(hex(hex(city)))))))))) from t
select concat(a,a) b, b||b c, c||c d, d||d e, e||e f, f||f g, g||g h, h||h i, concat(i,i) j from t
"""
HONEST = """
select count(*) from (select id, max(d) as d from t group by id) a join u b on a.id = b.id and a.d = b.d
with x as (select lower(city) city from t group by lower(city)) select count(*) from x join u on x.city = u.city
select count(*) from (select *, row_number() over (partition by id order by d) r from t) a join u b on a.id = b.id
select count(*) from (select id from t union all select id from u) a join u b on a.id = b.id
select count(*) from t join u using (id)
with a as (select id from t) select count(*) from a left join (select distinct id from u) b on a.id = b.id
select count(*) from t a join u b on date_trunc('day', a.d) = b.d
select count(*) from t a join u b on substr(a.city, 1, 10) = b.city
select max(aggregate(tags, 0, (x, y) -> x + y)) from t
select max(aggregate(tags, 0, (x, y) -> if(y > x, y, x))) from t
select max(aggregate(tags, '', (x, y) -> concat(x, ',', y))) from t
select max(aggregate(tags, 0, (x, y) -> greatest(x, y, x))) from t
select max(replace(replace(city, 'a', 'b'), '-', '')) from t
select max(coalesce(city, concat(city, '-', city))) from t
"""


def reason(query: str) -> str:
    """Why the guard refuses a query; empty where it does not."""
    try:
        read_query(query, ["t", "u"], COLUMNS)
    except UnableToAllow as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("query", JOINS.strip().splitlines())
def test_a_join_multiplies_behind_no_name(query: str) -> None:
    assert "a join says nothing about which rows belong together" in reason(query)


@pytest.mark.parametrize("query", DOUBLINGS.strip().splitlines())
def test_no_value_doubles_over_and_over(query: str) -> None:
    assert "multiply the length" in reason(query) or "double the length" in reason(query)


@pytest.mark.parametrize("query", HONEST.strip().splitlines())
def test_what_adds_little_is_allowed(query: str) -> None:
    assert reason(query) == ""
