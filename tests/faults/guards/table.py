"""What each experiment guards: one row for each, and a second where two things hold against one fault."""

from tests.faults.guards.guard import Edit, Guard

QUEUE, SWEEP, SEND = "platform/assay/queue/claims.py", "platform/assay/scheduler/sweep.py", "alerting/notices/send.py"
CHILD = "execution_engine/engines/child/engine.py"

GUARDS = (
    Guard(
        experiment=1,
        name="a lease ends",
        without="what a killed worker held is nobody's for ever",
        breaks=frozenset({"I8"}),
        edits=(
            Edit(
                path=QUEUE,
                was="free = pending(stage, now, **filters).filter(unleased(real_now))",
                becomes="free = pending(stage, now, **filters).filter(lease_until__isnull=True)",
            ),
        ),
    ),
    Guard(
        experiment=2,
        name="the sweep tells of rows whose lease has ended",
        without="a child's rows wait for a message that nobody sends",
        breaks=frozenset({"I8"}),
        edits=(
            Edit(
                path=SWEEP,
                was="rows = pending(stage, now).filter(unleased(real_now))",
                becomes="rows = pending(stage, now).filter(lease_until__isnull=True)",
            ),
        ),
    ),
    Guard(
        experiment=3,
        name="rows are ended under the epoch of their claim",
        without="the late worker writes over what another has ended",
        breaks=frozenset({"I2", "I6"}),
        edits=(
            Edit(
                path=QUEUE,
                was="filter(pk=row.pk, epoch=row.epoch).update(**ended)",
                becomes="filter(pk=row.pk).update(**ended)",
            ),
            Edit(path=QUEUE, was=', unchanged=("epoch",))', becomes=", unchanged=())"),
        ),
    ),
    Guard(
        experiment=3,
        name="rows that are read anew are of the same claim",
        without="the late worker, refused once, tries again under the epoch of another",
        breaks=frozenset({"I2", "I6"}),
        edits=(
            Edit(
                path=QUEUE,
                was="if row.pk in fresh and fresh[row.pk].epoch == row.epoch]",
                becomes="if row.pk in fresh]",
            ),
        ),
    ),
    Guard(
        experiment=4,
        name="a message that cannot be acknowledged is let go",
        without="it keeps one of the worker's hands for ever, and with all kept the worker takes nothing",
        breaks=frozenset({"I8"}),
        edits=(
            Edit(
                path="platform/assay/queue/broker.py",
                was="            virtual.QoS.ack(self, delivery_tag)  # Redis, if it still knows of it, gives it out "
                "again in its time\n",
                becomes="",
            ),
        ),
    ),
    Guard(
        experiment=5,
        name="the API asks the database alone whether all is well",
        without="it asks Redis, and waits for it",
        breaks=frozenset({"API answers"}),
        edits=(
            Edit(
                path="web/probes.py",
                was="        scheduler_state = scheduler()\n",
                becomes="        scheduler_state = scheduler()\n"
                "        __import__('assay.celery').celery.app.connection_for_write().default_channel.client.ping()\n",
            ),
        ),
    ),
    Guard(
        experiment=6,
        name="a sweep that Redis refuses is over, and the next one comes",
        without="the scheduler ends of it",
        breaks=frozenset({"none ends", "I8"}),
        edits=(
            Edit(
                path=SWEEP,
                was="lost: tuple[type[BaseException], ...] = (OperationalError, *broker.connection_errors, "
                "*broker.channel_errors)",
                becomes="lost: tuple[type[BaseException], ...] = (OperationalError,)",
            ),
        ),
    ),
    Guard(
        experiment=7,
        name="each commit is on disk before it is told",
        without="the last second of commits dies with MariaDB",
        breaks=frozenset({"no commit lost"}),
        edits=(
            Edit(
                path="deploy/mariadb/assay.cnf",
                was="innodb_flush_log_at_trx_commit = 1",
                becomes="innodb_flush_log_at_trx_commit = 0",
            ),
        ),
    ),
    Guard(
        experiment=8,
        name="a transaction that is refused is tried again",
        without="its rows wait until their lease has run out",
        breaks=frozenset({"again at once"}),
        edits=(Edit(path=QUEUE, was="stop=stop_after_attempt(5)", becomes="stop=stop_after_attempt(1)"),),
    ),
    Guard(
        experiment=10,
        name="a lease ends",
        without="what was in work when all was killed is nobody's for ever",
        breaks=frozenset({"I8"}),
        edits=(
            Edit(
                path=QUEUE,
                was="free = pending(stage, now, **filters).filter(unleased(real_now))",
                becomes="free = pending(stage, now, **filters).filter(lease_until__isnull=True)",
            ),
        ),
    ),
    Guard(
        experiment=11,
        name="the unique keys of open incidents and of open alerts, together",
        without="racing processes open several incidents of one dataset and category",
        breaks=frozenset({"I3"}),
        edits=(
            Edit(
                path="incident_manager/migrations/0001_initial.py",
                was="('open_key', models.CharField(max_length=190, null=True, unique=True))",
                becomes="('open_key', models.CharField(max_length=190, null=True, db_index=True))",
            ),
            Edit(
                path="alerting/migrations/0001_initial.py",
                was="('open_key', models.CharField(max_length=190, null=True, unique=True))",
                becomes="('open_key', models.CharField(max_length=190, null=True, db_index=True))",
            ),
        ),
    ),
    Guard(
        experiment=12,
        name="notices that went out together go out together again",
        without="what comes again comes with another body",
        breaks=frozenset({"I5"}),
        edits=(
            Edit(
                path=SEND,
                was="for row in [*leaders, *_followers(leaders)]:",
                becomes="for row in leaders:",
            ),
        ),
    ),
    Guard(
        experiment=13,
        name="a notice counts as sent once its receiver has said so",
        without="what was refused counts as sent",
        breaks=frozenset({"I5"}),
        edits=(
            Edit(
                path=SEND,
                was="    except TransportError as error:\n        return error\n",
                becomes="    except TransportError:\n        return None\n",
            ),
        ),
    ),
    Guard(
        experiment=14,
        name="the number of a check is kept on its row",
        without="each check counts as the first, and all come after five minutes",
        breaks=frozenset({"not early"}),
        edits=(
            Edit(
                path="incident_manager/reruns.py",
                was="attempt=row.attempt + 1, t0=t0",
                becomes="attempt=0, t0=t0",
            ),
        ),
    ),
    Guard(
        experiment=15,
        name="a hint never expires",
        without="a worker whose clock is fast heeds none",
        breaks=frozenset({"I8"}),
        edits=(
            Edit(
                path="platform/assay/celery.py",
                was="queue=queue_name(stage, datacenter))",
                becomes="queue=queue_name(stage, datacenter), expires=60)",
            ),
        ),
    ),
    Guard(
        experiment=16,
        name="periods that the clocks skip are empty",
        without="the hour before one that is skipped is named as the skipped one",
        breaks=frozenset({"one slot a key"}),
        edits=(
            Edit(
                path="platform/assay/time/windows.py",
                was="    if second < first:\n        return transition(second, first, zone)\n",
                becomes="",
            ),
        ),
    ),
    Guard(
        experiment=17,
        name="who waits on a child that dies is told so",
        without="a query that kills Spark ends at its deadline, as if it had hung",
        breaks=frozenset({"right ends"}),
        edits=(
            Edit(
                path="execution_engine/engines/child/process.py",
                was="            left, self._answers = [answer for _, answer in self._answers.values()], {}\n",
                becomes="            left, self._answers = [], {}\n",
            ),
        ),
    ),
    Guard(
        experiment=18,
        name="the deadline of a scan",
        without="a query that hangs may go on four times as long",
        breaks=frozenset({"in time"}),
        edits=(
            Edit(
                path=CHILD,
                was="return wait_for(answer, self._seconds, lambda: child.cancel(id_))",
                becomes="return wait_for(answer, 4 * self._seconds, lambda: child.cancel(id_))",
            ),
        ),
    ),
    Guard(
        experiment=19,
        name="the end of a Java whose memory is used up is known as such",
        without="it counts as a crash, and the query is tried again to fill the memory once more",
        breaks=frozenset({"right ends", "in time"}),
        edits=(
            Edit(
                path="execution_engine/engines/child/process.py",
                was="    elif death.java == JAVA_OUT_OF_MEMORY:\n",
                becomes="    elif death.java == -1:\n",
            ),
        ),
    ),
    Guard(
        experiment=20,
        name="slots that an outage swallowed are made up for",
        without="only the newest of each test is run",
        breaks=frozenset({"I1"}),
        edits=(
            Edit(
                path="execution_engine/planning/schedules.py",
                was="MOST_CAUGHT_UP = 31 ",
                becomes="MOST_CAUGHT_UP = 1 ",
            ),
        ),
    ),
    Guard(
        experiment=22,
        name="failures of one dataset and category join its open incident and alert",
        without="each test that fails opens its own",
        breaks=frozenset({"I3", "one notice"}),
        edits=(
            Edit(
                path="incident_manager/incidents/services.py",
                was='    key = f"{test.dataset_id}:{test.category}"\n',
                becomes='    key = f"{test.dataset_id}:{test.category}:{test.pk}"\n',
            ),
            Edit(
                path="incident_manager/incidents/services.py",
                was="owner=dataset.owner, now=now)\n    incident.save()",
                becomes="owner=dataset.owner, now=now, key=key)\n    incident.save()",
            ),
        ),
    ),
)
