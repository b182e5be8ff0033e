select count(*) from trips

select count(*) from raw.trips where day = date'2013-01-02'

select count(distinct city, riders) from trips -- how many pairs

select round(sum(fare) / nullif(count(*), 0), 6) from trips where riders is not null

select max(t.fare) from trips t join zones z on t.city = z.city where z.zone in ('south', 'north')

select count(*) from trips t left join zones z on t.city = z.city where z.city is null

select count(*) from trips t left anti join zones z using (city)

select count(*) from trips t left semi join zones z on t.city <=> z.city

with rome as (select * from trips where city = 'rome'), big as (select * from rome where fare > 10)
select count(*) from rome full outer join big on rome.trip_id = big.trip_id

with trips as (select * from trips where city = 'rome') select count(*) from trips

select count(*) from (select city, day, count(*) as n from trips group by city, day having count(*) > 1)

select count(*) from (select trip_id, row_number() over (partition by city order by started desc, trip_id) as place
from trips) where place = 1

select round(max(abs(fare - before)), 6) from (
select fare, lag(fare, 1, 0) over (partition by city order by started, trip_id) as before from trips)

select round(avg(last3), 6) from (select avg(fare) over (order by trip_id rows between 2 preceding and current row) as last3
from trips)

select count(*) from (select sum(riders) over w as so_far from trips window w as (partition by city order by trip_id))

select sum(case when fare > 20 then 1 when fare is null then 10 else 0 end) from trips

select count(*) filter (where fare > 20 and not (city like 'r%' or city is null)) from trips

select count(*) from trips lateral view explode(tags) e as tag where tag = 'late'

select count(*) from trips lateral view outer posexplode(tags) e as at, tag where at is null or at > 0

select count(*) from (select explode(sequence(date'2013-01-01', date'2013-01-31', interval 1 day)) as day) d
left anti join trips t on d.day = t.day

select count(*) from (select city from trips union select city from zones)

select count(*) from (select city from trips except select city from zones union all select 'x')

select count(*) from (select city from trips intersect select city from zones)

select (select count(*) from trips) - (select count(*) from zones)

select count(*) from trips where fare > (select avg(fare) from trips)

select count(*) from trips t where exists (select 1 from zones z where z.city = t.city and t.fare between z.low and z.high)

select count(*) from trips where (city, riders) in (select city, max(riders) from trips group by city)

select count(*) from trips t cross join (select avg(fare) as mean, stddev(fare) as spread from trips) s
where abs(t.fare - s.mean) > 2 * s.spread

select count(*) from trips a, zones b where a.city = b.city and a.fare > b.low

select round(percentile_approx(fare, 0.5), 6) + round(percentile(fare, 0.9), 6) from trips

select round(percentile_cont(0.25) within group (order by fare), 6) from trips

select count(*) from (select city, day, sum(fare) from trips group by city, day with rollup)

select count(*) from (select city, zone, count(*) from trips join zones using (city) group by grouping sets ((city), (zone), ()))

select datediff(max(day), min(day)) + months_between(date'2013-03-01', date'2013-01-01') from trips

select count(*) from trips where started >= timestamp'2013-01-02 00:00:00' - interval '1 12:00:00' day to second
and started < timestamp'2013-01-02' + interval 36 hours

select sum(extract(hour from started) + dayofweek(day) + year(add_months(day, 12))) from trips

select count(*) from trips where date_trunc('month', started) = timestamp'2013-01-01' and date_format(day, 'yyyy-MM') = '2013-01'

select timestampdiff(minute, min(started), max(started)) + datediff(day, min(started), max(started)) from trips

select count(try_cast(note as int)) + count(cast(riders as string)) + sum(cast('7' as int)) from trips

select count(*) from trips where note rlike '^\\d+$' or note rlike r'^[a-z]+\s' or note like 'it\'s 100\%%' or note = 'it''s'

select count(*) from trips where trim(both ' ' from note) = '' or length(note) > 3 and upper(left(note, 1)) between 'A' and 'M'

select sum(size(tags) + coalesce(extra['n'], 0) + place.x + coalesce(try_element_at(tags, 1) = 'late', false)::int) from trips

select sum(aggregate(transform(filter(tags, t -> t <> 'x'), (t, i) -> length(t) + i), 0, (total, n) -> total + n)) from trips

select count(*) from trips where get_json_object(note, '$.a') = '1' or from_json(note, 'a int').a = 1

select riders * 7 / 2 + riders div 2 + riders % 3 - -1 + (riders | 4) + (riders & 1) + (riders ^ 2) + (riders << 1) + ~riders
from trips where trip_id = 5

select concat_ws('-', max(city), count(*)) || '!' || "double quoted" from trips

select min_by(city, fare) || max_by(city, fare) from trips

select corr(fare, riders) > -2 and bool_or(fare > 20) and count_if(fare > 20) > 0 and any_value(city) is not null from trips

select count(`odd name`) + count(t.user) from trips t

select count(*) from trips order by 1 desc nulls last limit 1

select * from (values (1, 'a'), (2, 'b')) as v(n, name) where n = 2

select z.* except (low, high) from zones z where city = 'rome'

select approx_count_distinct(city) + array_size(sort_array(collect_set(city))) from trips

from trips select max(fare) where riders > 1

select build_bloom_filter(trip_id) is not null from trips

select count(*) from trips where use_bloom_filter((select build_bloom_filter(city) from zones), city)
