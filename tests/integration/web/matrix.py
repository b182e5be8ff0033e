"""Who may send what where, written by hand: the expected matrix that every address is held against.

A line is a method, an address, who may on a dataset of their own, who may on another's, and which scope a token needs.
Roles by letter: v viewer, o owner, p producer, x operator, a admin; ``*`` all of them; ``-`` nobody.
"""

from dataclasses import dataclass

LETTERS = {"v": "viewer", "o": "owner", "p": "producer", "x": "operator", "a": "admin"}
API = """
GET     api/v1/audit                              xa    xa    read
POST    api/v1/auth/logout                        *     *     read,gate,ingest,act,manage
GET     api/v1/backtest                           *     *     read
POST    api/v1/backtest                           oxa   xa    act
GET     api/v1/badges/{dataset}.svg               *     *     gate
GET     api/v1/bindings                           *     *     read
POST    api/v1/bindings                           oxa   a     act
GET     api/v1/bindings/{binding}                 *     *     read
PATCH   api/v1/bindings/{binding}                 oxa   a     act
DELETE  api/v1/bindings/{binding}                 oxa   a     act
GET     api/v1/business-metrics                   *     *     read
GET     api/v1/business-metrics/{metric}          *     *     read
PUT     api/v1/business-metrics/{metric}          pa    pa    ingest
GET     api/v1/calendar.ics                       *     *     read
GET     api/v1/columns                            *     *     read
GET     api/v1/coverage                           *     *     read
GET     api/v1/data-tests                         *     *     read
POST    api/v1/data-tests                         oxa   a     act
GET     api/v1/data-tests/{test}                  *     *     read
PATCH   api/v1/data-tests/{test}                  oxa   a     act
DELETE  api/v1/data-tests/{test}                  oxa   a     act
GET     api/v1/datasets                           *     *     read
GET     api/v1/datasets/{dataset}                 *     *     read
PUT     api/v1/datasets/{dataset}                 pa    pa    ingest
PATCH   api/v1/datasets/{dataset}                 oxa   a     act
PUT     api/v1/datasets/{dataset}/follow          *     *     act
DELETE  api/v1/datasets/{dataset}/follow          *     *     act
POST    api/v1/deploys                            pa    pa    ingest
GET     api/v1/exports/incidents.csv                        *     *     read
GET     api/v1/exports/incidents.parquet                    *     *     read
GET     api/v1/exports/measurements.csv                        *     *     read
GET     api/v1/exports/measurements.parquet                    *     *     read
GET     api/v1/exports/runs.csv                        *     *     read
GET     api/v1/exports/runs.parquet                    *     *     read
POST    api/v1/gate                               *     *     gate
GET     api/v1/gate/overrides                     *     *     read
POST    api/v1/gate/overrides                     oxa   xa    act
GET     api/v1/gate/overrides/{override}          *     *     read
POST    api/v1/gate/overrides/{override}/end      oxa   xa    act
GET     api/v1/incidents                          *     *     read
GET     api/v1/incidents/{incident}               *     *     read
POST    api/v1/incidents/{incident}/accept        oxa   xa    act
POST    api/v1/incidents/{incident}/acknowledge   oxa   xa    act
POST    api/v1/incidents/{incident}/annotations   oxa   xa    act
POST    api/v1/incidents/{incident}/assign        oxa   xa    act
POST    api/v1/incidents/{incident}/force-resolve oxa   xa    act
POST    api/v1/incidents/{incident}/rerun         oxa   xa    act
GET     api/v1/lineage                            *     *     read
POST    api/v1/lineage                            pa    pa    ingest
GET     api/v1/measurements                       *     *     read
GET     api/v1/members                            a     a     manage
GET     api/v1/members/{member}                   a     a     manage
PUT     api/v1/members/{member}                   a     a     manage
POST    api/v1/onboarding                         pa    pa    ingest
POST    api/v1/onboarding/preview                 pa    pa    ingest
GET     api/v1/pipelines/load/completed           *     *     gate
POST    api/v1/pipelines/load/completed           pa    pa    ingest
GET     api/v1/pipelines/load/quality             *     *     read
GET     api/v1/proposals                          *     *     read
GET     api/v1/publications                       *     *     read
GET     api/v1/publications/{publication}         *     *     read
GET     api/v1/quality                            *     *     gate
POST    api/v1/quality/bulk                       *     *     gate
POST    api/v1/quality/query                      *     *     gate
GET     api/v1/quarantines                        *     *     read
GET     api/v1/quarantines/{quarantine}           *     *     read
POST    api/v1/quarantines/{quarantine}/lift      xa    xa    act
GET     api/v1/reports                            *     *     read
POST    api/v1/reports                            *     *     act
GET     api/v1/reports/{report}                   *     *     read
POST    api/v1/reports/{report}/confirm           oxa   xa    act
POST    api/v1/reports/{report}/fix               oxa   xa    act
POST    api/v1/reports/{report}/join              oxa   xa    act
POST    api/v1/reports/{report}/reject            oxa   xa    act
GET     api/v1/runs                               *     *     read
POST    api/v1/runs                               oxa   xa    act
GET     api/v1/runs/bulk                          *     *     read
POST    api/v1/runs/bulk                          oxa   xa    act
GET     api/v1/runs/{run}                         *     *     read
GET     api/v1/scores                             *     *     read
GET     api/v1/search                             *     *     read
GET     api/v1/silences                           *     *     read
POST    api/v1/silences                           oxa   xa    act
GET     api/v1/silences/{silence}                 *     *     read
POST    api/v1/silences/{silence}/end             oxa   xa    act
GET     api/v1/suggestions                        *     *     read
POST    api/v1/suggestions                        oxa   a     act
GET     api/v1/suggestions/reading                *     *     read
GET     api/v1/suggestions/{suggestion}           *     *     read
POST    api/v1/suggestions/{suggestion}/accept    oxa   a     act
POST    api/v1/suggestions/{suggestion}/reject    oxa   a     act
POST    api/v1/suggestions/{rejected}/take-back   oxa   a     act
GET     api/v1/templates                          *     *     read
POST    api/v1/templates                          oxa   a     act
GET     api/v1/templates/library                  *     *     read
POST    api/v1/templates/preview                  oxa   oxa   act
GET     api/v1/templates/{template}               *     *     read
PATCH   api/v1/templates/{template}               oxa   a     act
DELETE  api/v1/templates/{template}               oxa   a     act
GET     api/v1/vital-signs                        *     *     read
GET     api/v1/tokens                             *     *     manage
POST    api/v1/tokens                             -     -     -
DELETE  api/v1/tokens/{token}                     *     a     manage
"""
PAGES = """
GET     {root}                                    *     *     -
GET     admin                                     a     a     -
GET     admin/audit                               a     a     -
GET     admin/channels                            a     a     -
POST    admin/channels/slack/test                 a     a     -
GET     admin/doctor                              a     a     -
POST    admin/doctor                              a     a     -
POST    admin/members/{member}                    a     a     -
GET     admin/tokens                              a     a     -
GET     answer/{answer}                           *     *     -
GET     coverage                                  *     *     -
GET     tables                                    *     *     -
GET     business-metrics                          *     *     -
GET     business-metrics/{metric}                 *     *     -
GET     datasets/{dataset}                        *     *     -
GET     datasets/{dataset}/backtest               *     *     -
GET     datasets/{dataset}/columns                *     *     -
POST    datasets/{dataset}/back-fill              oxa   xa    -
POST    datasets/{dataset}/correct                oxa   a     -
POST    datasets/{dataset}/follow                 *     *     -
POST    first-runs                                oxa   oxa   -
POST    datasets/{dataset}/override               oxa   xa    -
POST    datasets/{dataset}/overrides/{override}/end oxa xa    -
GET     datasets/{dataset}/problem                *     *     -
POST    datasets/{dataset}/report                 *     *     -
POST    datasets/{dataset}/suggest                oxa   a     -
GET     datasets/{dataset}/suggestions            *     *     -
POST    datasets/{dataset}/suggestions/{suggestion}/accept oxa a -
POST    datasets/{dataset}/suggestions/{suggestion}/reject oxa a -
POST    datasets/{dataset}/suggestions/{rejected}/take-back oxa a -
GET     datasets/{dataset}/tests/new              oxa   a     -
POST    datasets/{dataset}/tests/{test}/bind      oxa   a     -
POST    datasets/{dataset}/bindings/{binding}/remove oxa  a     -
POST    datasets/{dataset}/tests/new/check        oxa   a     -
POST    datasets/{dataset}/tests/new/measure      oxa   a     -
POST    datasets/{dataset}/tests/new/save         oxa   a     -
GET     datasets/{dataset}/tests/{test}/edit      oxa   a     -
POST    datasets/{dataset}/tests/{test}/edit/check oxa  a     -
POST    datasets/{dataset}/tests/{test}/edit/measure oxa a    -
POST    datasets/{dataset}/tests/{test}/edit/save oxa   a     -
POST    datasets/{dataset}/tests/{test}/edit/retire oxa a     -
GET     incidents                                 *     *     -
GET     incidents/{incident}                      *     *     -
GET     incidents/{incident}/chart.png            *     *     -
GET     incidents/{incident}/chart.svg            *     *     -
POST    incidents/act                             *     *     -
POST    incidents/{incident}/accept               oxa   xa    -
POST    incidents/{incident}/acknowledge          oxa   xa    -
POST    incidents/{incident}/annotate             oxa   xa    -
POST    incidents/{incident}/assign               oxa   xa    -
POST    incidents/{incident}/force-resolve        oxa   xa    -
POST    incidents/{incident}/rerun                oxa   xa    -
GET     me                                        *     *     -
POST    me/notices                                *     *     -
GET     proposals                                 *     *     -
POST    proposals/onboard                         pa    pa    -
POST    proposals/preview                         pa    pa    -
GET     reports                                   *     *     -
POST    reports/{report}/confirm                  oxa   xa    -
POST    reports/{report}/fix                      oxa   xa    -
POST    reports/{report}/join                     oxa   xa    -
POST    reports/{report}/reject                   oxa   xa    -
GET     scores                                    *     *     -
GET     search                                    *     *     -
GET     teams/{team}                              *     *     -
GET     silences                                  *     *     -
POST    silences/new                              oxa   xa    -
POST    silences/{silence}/end                    oxa   xa    -
GET     templates                                 *     *     -
POST    templates/preview                         oxa   oxa   -
POST    templates/remove                          oxa   a     -
POST    templates/save                            oxa   a     -
GET     templates/write                           oxa   oxa   -
POST    tokens/new                                *     *     -
POST    tokens/{token}/end                        *     a     -
"""
# whoever asks; the login takes a name and a password, a chart an address that we signed, and nothing lies at the last
OPEN = frozenset(
    {
        ("*", "healthz"),
        ("*", "readyz"),
        ("*", "metrics"),
        ("*", "charts/<str:token>.png"),
        ("GET", "api/schema"),
        ("GET", "api/docs"),
        ("POST", "api/v1/auth/login"),
        ("*", "api/"),
        ("*", "language"),
        ("*", "login"),
        ("*", "logout"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Line:
    method: str
    address: str
    own: frozenset[str]
    other: frozenset[str]
    scopes: frozenset[str]


def lines(text: str) -> list[Line]:
    return [_line(*line.split()) for line in text.splitlines() if line]


def _line(method: str, address: str, own: str, other: str, scopes: str) -> Line:
    some = frozenset() if scopes == "-" else frozenset(scopes.split(","))
    return Line(method=method, address=address, own=_roles(own), other=_roles(other), scopes=some)


def _roles(letters: str) -> frozenset[str]:
    if letters == "*":
        return frozenset(LETTERS.values())
    return frozenset(LETTERS[letter] for letter in letters if letter != "-")
