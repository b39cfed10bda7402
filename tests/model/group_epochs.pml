/* Copyright 2026 The TensorHub Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A model of the protocol's hardest corner: a group's epochs, and a group's fetch, across restarts of
 * the hub and of the group's processes. tools/check_model.sh has Spin explore it exhaustively, and
 * docs/protocol/model.md says what came of it.
 *
 * Modelled: sessions, leases and their end, several processes of a rank of which an older one may come
 * back, the grace after a restart, epochs with all their special cases (hub.pml). Then one of two
 * halves. In publish.pml the group publishes one version number. With -DFETCH, in fetch.pml, it
 * fetches what others hold. An inline is the function of its name in server/core, or what an agent
 * does of it (worker_agent/core).
 *
 * Abstracted away: bytes, sources and who reads from whom. Time: a lease or a grace may end whenever
 * there is nobody's session, or a recovery, so that a recovery may also end before all are back. What
 * is on its way is what one side knows and the other does not: it comes at any later moment, or is
 * lost with the session. Terms, digests, several models, deadlines other than a join's, workers that
 * have no right to publish, older agents, adoption. A publisher's unpublish.
 *
 * Which assertion states what:
 *   CheckWhole       R2.1, R2.3, R2.4, R2.5: who makes a version visible is one epoch
 *   NewEpoch, and `hears epoch`   R2.2, R2.3: epochs only rise, for a process and over restarts
 *   Replace          R8.3: nobody is fenced by an earlier process of its rank
 *   CheckTables      R8.1, R8.3, R6.3: who is gone or has restarted is no holder and in no fetch
 *   CheckCommit      R6.2, R6.3: a success is of the processes that the decision was made for, whole
 *   Conclude         R6.2, R6.6: a fetch has one outcome, whatever becomes of the hub
 *   HearOutcome      R6.3, R6.7: a rank hears the outcome of all, and hears it
 *   CheckEnd         R6.5, R8.13: without further faults what all publish becomes visible, and a
 *                    fetch that was decided ends. No run goes on for ever: each step that is no fault
 *                    brings something further, so that the states without a next step are its ends
 *
 * Bounds are the macros below, and tools/check_model.sh prints how many states they give.
 */

/* A flag of a fault, as tools/check_model.sh names them, breaks a rule. WITHOUT_… leaves out a special
 * case, to see what needs it. */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef PROCS
#define PROCS 3
#endif
#ifndef LIVES
#define LIVES 2
#endif
#ifndef CUTS
#define CUTS 1
#endif
#ifndef LEASES
#define LEASES 1
#endif
#ifndef GIVEUPS
#define GIVEUPS 1
#endif
#ifndef FETCHES
#define FETCHES 1
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef CALMS
#define CALMS 0 /* 1: faults may end, and what must happen then is checked */
#endif
#ifndef FORGETS
#define FORGETS 0
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#ifndef STORE
#define STORE 1
#endif

#ifdef FETCH
#include "fetch.pml"
#else
#include "publish.pml"
#endif

/* A process ends, and its host closes its connections. What the hub lists of it stays. */
inline End(p) {
  proc[p].up = ENDED;
  proc[p].told = 0;
  proc[p].came_in = 0;
  proc[p].holds = FREE;
  proc[p].pub = 0;
  if
  :: row[RANK(p)].proc == p -> row[RANK(p)].session = 0
  :: else
  fi;
  EndContent(p)
}

inline ForgetDead(r) {
  GiveUpFetches(r);
  NewEpoch();
  BeginEpoch();
  row[r].proc = NOBODY;
  row[r].seen = 0;
  row[r].told = 0;
  row[r].came_in = 0;
  row[r].fenced = 0;
  row[r].stale = 0;
  EndCalls(r);
  ForgetAnswer(r);
  flag_ = 0;
  for (i_ : 0 .. RANKS - 1) {
    flag_ = flag_ || row[i_].proc != NOBODY
  }
  if
  :: flag_
  :: else -> epoch = 0; is_older = 0
  fi
}

inline Restart() {
#ifndef LIFE_IS_NOT_RAISED
  life++;
#endif
  counter = 0;
  epoch = 0;
  is_older = 0;
  recovering = STORE;
  young = !STORE;
  Restore();
  for (i_ : 0 .. RANKS - 1) {
    row[i_].alive = 0;
    row[i_].session = 0;
    row[i_].greeted = 0;
    row[i_].seen = 0;
    row[i_].told = 0;
    row[i_].came_in = 0;
    row[i_].fenced = 0;
    row[i_].stale = 0
  }
}

proctype member(byte p) {
end:
  do
  /* A later process of a rank is started when the one before knows that it has come, or is gone. */
  :: d_step {
       proc[p].up == WAITS && !calm && (proc[p - RANKS].told != 0 || proc[p - RANKS].up == ENDED) ->
       printf("%d/%d is started\n", RANK(p), p / RANKS);
       proc[p].up = RUNS
     }
  :: d_step {
       proc[p].up == RUNS && !calm && kills > 0 ->
       printf("%d/%d is killed\n", RANK(p), p / RANKS);
       kills--;
       End(p)
     }
  :: d_step {
       proc[p].up == RUNS && REFUSED(p) ->
       printf("%d/%d is refused for good\n", RANK(p), p / RANKS);
       End(p)
     }
  :: d_step {
       CONNECTED(p) && !calm && cuts > 0 ->
       printf("%d/%d loses its session\n", RANK(p), p / RANKS);
       cuts--;
       row[RANK(p)].session = 0
     }
  :: d_step {
       proc[p].up == RUNS && !CONNECTED(p) && OPENS(p) ->
       On_SessionOpened(p, RANK(p));
       printf("%d/%d opens a session, and will be told %d\n", RANK(p), p / RANKS, row[RANK(p)].told);
       CheckTables()
     }
  :: d_step {
       proc[p].up == RUNS && CONNECTED(p) && (!row[RANK(p)].greeted ||
         (proc[p].told != row[RANK(p)].told && !IS_DROPPED(p))) ->
       printf("%d/%d hears epoch %d\n", RANK(p), p / RANKS, row[RANK(p)].told);
       /* R2.3: a process is told later epochs only. */
       assert(proc[p].told <= row[RANK(p)].told);
       row[RANK(p)].greeted = 1;
       proc[p].told = row[RANK(p)].told;
       if
       :: proc[p].came_in == 0 -> proc[p].came_in = proc[p].told
       :: else
       fi
     }
  :: d_step {
       row[RANK(p)].proc == p && row[RANK(p)].alive && !row[RANK(p)].session && (calm || leases > 0) ->
       printf("%d/%d: its lease ends\n", RANK(p), p / RANKS);
       if
       :: calm
       :: else -> leases--
       fi;
       EndWorker(RANK(p));
       CheckTables()
     }
  :: d_step {
       row[RANK(p)].proc == p && !row[RANK(p)].alive && !calm && forgets > 0 ->
       printf("%d/%d is forgotten\n", RANK(p), p / RANKS);
       forgets--;
       ForgetDead(RANK(p));
       CheckTables()
     }
  STEPS_OF_THIS_HALF(p, RANK(p))
  od
}

active proctype hub() {
  d_step {
    for (i_ : 0 .. RANKS - 1) {
      row[i_].proc = NOBODY;
      proc[i_].up = RUNS
    };
    InitOfThisHalf();
    skip
  }
  atomic {
    for (k_ : 0 .. PROCS - 1) {
      run member(k_)
    };
    skip
  }
  do
  :: d_step { life < LIVES && !calm -> printf("the hub restarts\n"); Restart(); skip }
  :: d_step {
       recovering ->
       printf("the recovery ends\n");
       young = 0;
       EndRecovery();
       CheckTables()
     }
  :: d_step { young && !recovering && !STORE -> young = 0 }
  :: d_step { CALMS && !calm -> printf("nothing fails any more\n"); calm = 1 }
  :: timeout ->
     d_step {
       if
       :: calm -> CheckEnd()
       :: else
       fi;
       skip
     };
     break
  od
}
