/* Copyright 2026 The TensorHub Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * R2: the ranks of the group publish one version, and it becomes visible when all of one epoch have
 * (server/core/publish.cc, recovery.cc).
 */

#define PROCESS_OF_THIS_HALF \
  unsigned in_epoch : 6;        /* the epoch to which its publish belongs, as the hub answered */ \
  bit visible;            /* as it heard */ \
  bit made;               /* its present generation is of those that made the mark */ \
  unsigned beside : 7;    /* ghost: who may make a version whole together with it */
#define ROW_OF_THIS_HALF \
  unsigned in_epoch : 6;        /* the epoch of what it publishes */ \
  bit waits;              /* a publish, for the end of the recovery */ \
  unsigned waits_in : 6; \
  bit over;               /* the answer to the publish is that it is over */

#include "hub.pml"

byte held;     /* the publication that is held under the number; 0: none */
bit visible;   /* it is */
byte mark;     /* the publication that was visible last; durable */

inline InitOfThisHalf() { skip }
inline LeaveFetch(r) { skip }
inline GiveUpFetches(r) { skip }
inline ForgetContent(p) {
  proc[p].in_epoch = 0;
  proc[p].visible = 0;
  proc[p].made = 0;
  proc[p].beside = 0
}
inline ForgetAnswer(r) { row[r].over = 0 }
inline EndContent(p) {
  proc[p].in_epoch = 0;
  proc[p].visible = 0;
  proc[p].made = 0;
  /* What the hub lists of it may still become visible. */
  if
  :: row[RANK(p)].proc == p && (row[RANK(p)].ref != NONE || row[RANK(p)].waits)
  :: else -> proc[p].beside = 0
  fi
}
inline EndCalls(r) { row[r].waits = 0; row[r].waits_in = 0 }

/* The ghost of an ended process goes with what it published. */
inline ForgetBeside(r) {
  if
  :: row[r].proc != NOBODY ->
     if
     :: proc[row[r].proc].up == ENDED -> proc[row[r].proc].beside = 0
     :: else
     fi
  :: else
  fi
}

inline ForgetReference(r) {
  ForgetBeside(r);
  row[r].in_epoch = 0;
  row[r].waits = 0;
  row[r].waits_in = 0;
  row[r].over = 0;
  ForgetIfUnheld()
}

inline ForgetIfUnheld() {
  flag_ = 0;
  for (j_ : 0 .. RANKS - 1) {
    flag_ = flag_ || row[j_].ref != NONE
  }
  if
  :: flag_
  :: else -> held = 0; visible = 0
  fi
}

inline DropReference(r) {
  ForgetBeside(r);
  row[r].ref = NONE;
  row[r].in_epoch = 0;
  ForgetIfUnheld()
}

/* R2.2 */
inline EndUnfinished(r, to) {
  if
#ifndef EPOCHS_ARE_MIXED
  :: row[r].ref == PART && row[r].in_epoch < to ->
     DropReference(r);
     row[r].stale = 1
#endif
#ifndef WHAT_WAITS_OUTLIVES_ITS_EPOCH
  :: row[r].waits && row[r].waits_in < to ->
     row[r].waits = 0;
     row[r].waits_in = 0;
     row[r].over = 1
#endif
  :: else
  fi
}

/* What waits counts as of the epoch that begins when a recovery ends. */
inline TakeAlong(r) {
  if
  :: row[r].waits -> row[r].waits_in = e_
  :: else
  fi
}

/* The epoch of what was published before, in told_. */
inline ReportedHolding(p) {
  skip;
#ifndef WITHOUT_HOLDING
  if
  :: proc[p].holds == HELD && proc[p].in_epoch % 16 != 0 ->
     Known(proc[p].in_epoch);
     if
     :: e_ > told_ -> told_ = e_
     :: else
     fi
  :: else
  fi
#endif
}

inline EpochOfPublish() {
  e_ = epoch;
#ifndef WITHOUT_ZERO
  if
  :: e_ < EPOCH(0) -> e_ = EPOCH(0)
  :: else
  fi
#endif
}

/* Ghost: the processes with which those that are there may be one epoch. As far as the hub could
 * know these were there; or a later one was, that an earlier life had put in their place. */
inline NoteWhoIsBeside(p, r) {
  proc[p].beside = 0;
  for (j_ : 0 .. PROCS - 1) {
    k_ = RANK(j_);
    if
    :: k_ == r || !row[k_].alive || row[k_].proc == j_ || (row[k_].proc < j_ && j_ <= newest[k_]) ->
       proc[p].beside = proc[p].beside | (1 << j_)
    :: else
    fi
  }
}

/* R2.1, R2.3, R2.4: who made it whole is one epoch, each of them beside the others. */
inline CheckWhole() {
  for (i_ : 0 .. RANKS - 1) {
    for (j_ : 0 .. RANKS - 1) {
      assert((proc[row[i_].proc].beside >> row[j_].proc) & 1)
    }
  }
}

inline BecomeVisible() {
  visible = 1;
  if
  :: STORE ->
     mark = held;
     for (i_ : 0 .. PROCS - 1) {
       proc[i_].made = (row[RANK(i_)].proc == i_ && row[RANK(i_)].ref != NONE && proc[i_].up == RUNS)
     }
  :: else
  fi
}

/* R2.6: what is visible is held by whoever has published it. */
inline CompletePublished() {
  for (i_ : 0 .. RANKS - 1) {
    if
    :: row[i_].ref == PART -> row[i_].ref = WHOLE; row[i_].in_epoch = 0
    :: else
    fi
  }
}

inline CompleteIfWhole() {
  if
  :: visible
  :: else ->
     AllWereTold();
#if defined(WITHOUT_TOLD) || defined(RECOVERY_PUBLISHES_AT_ONCE)
     flag_ = 1;
#endif
     flag_ = !recovering || flag_;
     for (i_ : 0 .. RANKS - 1) {
       flag_ = flag_ && row[i_].ref != NONE
     }
#ifdef VISIBLE_WHEN_BEGUN
     flag_ = 1;
#endif
     if
     :: flag_ ->
#ifdef VISIBLE_WHEN_BEGUN
        for (i_ : 0 .. RANKS - 1) {
          assert(row[i_].ref != NONE)
        }
#endif
        CheckWhole();
        BecomeVisible()
     :: else
     fi
  fi;
  if
  :: visible -> CompletePublished()
  :: else
  fi
}

/* An id that nobody knows. */
inline Create() {
  for (k_ : 1 .. PROCS + 2) {
    flag_ = (k_ == mark);
    for (j_ : 0 .. PROCS - 1) {
      flag_ = flag_ || proc[j_].pub == k_
    }
    if
    :: !flag_ -> break
    :: else
    fi
  }
  assert(k_ <= PROCS + 2);
  held = k_;
  visible = 0
}

/* R1.6: what it made whole in an earlier life, and has not heard so, it takes up. */
inline Publish(p, r) {
  if
  :: held == 0 && mark != 0 && proc[p].made -> held = mark; visible = 1
  :: held == 0 && !(mark != 0 && proc[p].made) -> Create()
  :: else
  fi;
  EpochOfPublish();
  row[r].ref = PART;
  row[r].in_epoch = e_;
  CompleteIfWhole()
}

/* R2.5, R2.7 */
inline On_Publish(p, r) {
  if
  :: row[r].stale -> row[r].over = 1
  :: else ->
     NoteWhoIsBeside(p, r);
#ifdef RECOVERY_PUBLISHES_AT_ONCE
     if
     :: true -> Publish(p, r)
#else
     if
     :: recovering ->
        EpochOfPublish();
        row[r].waits = 1;
        row[r].waits_in = e_
     :: else -> Publish(p, r)
#endif
     fi
  fi
}

/* What it reports to hold. Refused, in opens_ == 0: it will hear that it is dropped. */
inline ListReported(p, r) {
  Known(proc[p].in_epoch);
  opens_ = !row[r].stale && (held == 0 || held == proc[p].pub);
  opens_ = opens_ && !(held == 0 && mark != 0 && mark != proc[p].pub && proc[p].visible);
  flag_ = proc[p].visible || (mark != 0 && mark == proc[p].pub); /* IsOfEarlierEpoch */
#ifdef WITHOUT_EARLIER
  flag_ = 1;
#endif
#ifdef WITHOUT_LATE
  opens_ = opens_ && (flag_ || e_ >= epoch);
#else
  opens_ = opens_ && (flag_ || (recovering && e_ >= epoch));
#endif
  if
  :: !opens_ -> row[r].stale = 1
  :: else ->
     if
     :: held == 0 -> held = proc[p].pub; visible = (mark == proc[p].pub)
     :: else
     fi;
     row[r].ref = PART;
     row[r].in_epoch = e_;
     if
     :: proc[p].visible && !visible -> BecomeVisible()
     :: else
     fi;
     CompleteIfWhole()
  fi
}

inline MergeReport(p, r) {
  if
  :: row[r].ref != NONE && proc[p].holds == FREE -> DropReference(r)
  :: else
  fi;
  if
  :: row[r].ref == NONE && proc[p].holds == HELD -> ListReported(p, r)
  :: else
  fi
}

inline EndRecovery() {
  recovering = 0;
  SettleEpoch();
  for (r_ : 0 .. RANKS - 1) {
    if
    :: row[r_].waits ->
       row[r_].waits = 0;
       row[r_].waits_in = 0;
       p_ = row[r_].proc;
       Publish(p_, r_)
    :: else
    fi
  }
}

/* What a hub that restarts knows: the mark. */
inline Restore() {
  held = 0;
  visible = 0;
  for (i_ : 0 .. RANKS - 1) {
    ForgetBeside(i_);
    row[i_].proc = NOBODY;
    row[i_].ref = NONE;
    row[i_].in_epoch = 0;
    row[i_].waits = 0;
    row[i_].waits_in = 0;
    row[i_].over = 0
  }
}

#define IS_DROPPED(p) (proc[p].holds == HELD && row[RANK(p)].ref == NONE)
#define IS_OVER(p) (row[RANK(p)].over || (row[RANK(p)].stale && row[RANK(p)].ref == NONE))

/* What the owner asks for, what the hub makes of it, and what the process hears. An answer or a
 * directive that is never heard is one that was lost with its session. */
#define STEPS_OF_THIS_HALF(p, r) \
  :: d_step { \
       RESUMED(p) && proc[p].holds <= ASKED && SPEAKS(p) && row[r].ref == NONE && !row[r].waits && \
       !row[r].over && !(proc[p].holds == FREE && row[r].stale) -> \
       printf("%d/%d publishes\n", RANK(p), p / RANKS); \
       proc[p].holds = ASKED; \
       On_Publish(p, r); \
       CheckTables() \
     } \
  :: d_step { \
       proc[p].holds == ASKED && HEARS(p) && row[r].ref != NONE -> \
       printf("%d/%d hears that it has published\n", RANK(p), p / RANKS); \
       proc[p].holds = HELD; \
       proc[p].pub = held; \
       proc[p].in_epoch = row[r].in_epoch; \
       proc[p].visible = visible \
     } \
  :: d_step { \
       proc[p].holds == ASKED && HEARS(p) && IS_OVER(p) -> \
       printf("%d/%d hears that its publish is over\n", RANK(p), p / RANKS); \
       Free(p); \
       skip \
     } \
  :: d_step { \
       proc[p].up == RUNS && HEARS(p) && IS_DROPPED(p) -> \
       printf("%d/%d hears that what it holds is dropped\n", RANK(p), p / RANKS); \
       Free(p); \
       skip \
     } \
  :: d_step { \
       proc[p].holds == HELD && HEARS(p) && row[r].ref == WHOLE && !proc[p].visible -> \
       printf("%d/%d hears that its version is visible\n", RANK(p), p / RANKS); \
       proc[p].visible = 1 \
     }

/* The invariants of the hub's tables (Hub::State::Invariants::CheckEpoch), which a planted fault may
 * break. R8.1, R8.3: a process that is gone or has restarted is no holder of what it held before. */
inline CheckTables() {
  for (i_ : 0 .. RANKS - 1) {
    assert(PLANTED || recovering || !row[i_].alive || row[i_].told == epoch);
    assert(PLANTED || row[i_].ref != PART || row[i_].in_epoch >= epoch);
    assert(row[i_].ref == NONE || (row[i_].alive &&
           (proc[row[i_].proc].up == ENDED || proc[row[i_].proc].holds != FREE)))
  };
  skip
}

/* R8: in the absence of faults, what all ranks publish becomes visible. */
inline CheckEnd() {
  flag_ = 1;
  for (i_ : 0 .. RANKS - 1) {
    flag_ = flag_ && row[i_].session
  }
  if
  :: flag_ ->
     for (i_ : 0 .. RANKS - 1) {
       assert(visible && row[i_].ref == WHOLE && proc[row[i_].proc].holds == HELD);
       assert(row[i_].told == epoch && proc[row[i_].proc].told == epoch)
     }
  :: else
  fi;
  skip
}
