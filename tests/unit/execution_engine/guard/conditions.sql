city = 'rome'
city <> 'rome' and city != 'oslo'
fare > 1 and fare < 20 -- cheap
(fare > 10) or (city is null)
not fare > 10
not city = 'rome' is null
! true = false
fare between 5 and 20
fare not between 5 and 20 and not riders in (1, 2)
riders in (1, 2, 3)
riders not in (1, null)
city is not null or fare is null
city <=> null
fare is distinct from riders
city is not distinct from 'rome'
city like 'r%' escape '!'
city not like '%o' or city ilike 'O%'
city rlike '^[a-z]{4}$'
note rlike '^\\d+$'
note rlike r'^\d+$'
note = 'it''s' or note = "it's" or note = 'it\'s'
note like '%100\%%'
note = 'a\\b' or note = 'a\tb' or note = r'a\b'
length(note) > 3 and upper(note) = note
trim(note) <> '' and substring(note, 1, 1) <> 'x'
concat(city, '-', note) = 'rome-it''s' or city || note = 'x'
riders / 2 = 1.5
riders div 2 = 1 and riders % 2 = 1
riders * 2 + 1 > 3 - -1
-riders < 0 and - -riders > 0 and +riders > 0
riders & 1 = 1 or riders | 4 = 5 or riders ^ 1 = 0
riders << 1 > 3 or ~riders < -2
1.5bd * riders > 3 or 1e1 < fare or 10L > riders
case when riders > 2 then fare > 10 else fare < 10 end
case city when 'rome' then true when 'oslo' then false end
if(fare is null, true, fare > 9)
coalesce(fare, 0) = 0 or nvl(riders, 1) = 1 or nullif(city, 'rome') is null
greatest(fare, riders) > 10 and least(fare, riders) < 3
abs(fare - 10) <= 5 and round(fare, 1) = fare
day = date'2013-01-02'
day >= date_add(date'2013-01-05', -3) and day < date_sub(date'2013-01-09', 1)
datediff(date'2013-01-05', day) = 2 or timestampdiff(day, day, date'2013-01-05') = 1
started >= timestamp'2013-01-02 05:00:00' and started < timestamp'2013-01-02 05:00:00' + interval 12 hours
date_trunc('day', started) = day and hour(started) < 12 and extract(minute from started) = 0
year(day) = 2013 and month(day) = 1 and date_format(day, 'E') in ('Mon', 'Tue')
cast(riders as double) = riders and cast(note as string) is not null
try_cast(note as int) > 1 or riders::string = '1'
place.x = 1 or place.y > 2.5
if(size(tags) = 2, tags[0] = 'late', false)
array_contains(tags, 'late') or exists(tags, tag -> tag like 'e%')
forall(tags, tag -> length(tag) > riders) and not exists(tags, x -> x = city)
extra['n'] = 1 or map_contains_key(extra, 'm') or element_at(extra, 'n') > 2
get_json_object(note, '$.a') = '1' or from_json(note, 'a int').a > 1
(city, riders) in (('rome', 1), ('oslo', 2))
struct(city, riders) = struct('rome', 1) or named_struct('a', 1).a = riders
xxhash64(city) % 2 = 0 and md5(city) <> '' and sha2(note, 256) is not null
regexp_replace(note, '[0-9]+', '#') = '#' or regexp_extract(note, '([a-z]+) ', 1) = 'ab'
split(note, ' ')[0] = 'ab' or locate('b', note) = 2 or position('b' in note) = 2
`odd name` is not null and `city` = 'rome'
user = 'u1'
true
null
fare > 1 /* a /* nested */ comment */ and riders > 1
isnull(city) or isnotnull(fare) and isnan(fare)
lpad(cast(riders as string), 3, '0') = '001'
~ ~riders = riders and ~riders < 0
