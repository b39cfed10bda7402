/* Copyright 2026 The TensorHub Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * R6: the ranks of the group fetch the latest version, which others hold: one decision, one outcome
 * (server/core/fetch.cc, transaction.cc, recovered_fetch.cc; worker_agent/core/fetch_verb.cc).
 */

/* Process.phase */
#define IDLE 0
#define JOINING 1
#define READING 2
#define FINISHING 3
#define FAILING 4
/* of a fetch */
#define OPEN 0
#define SUCCEEDED 1
#define FAILED 2

#define PROCESS_OF_THIS_HALF \
  unsigned phase : 3; \
  unsigned fetch : 2;     /* whose decision it has heard */ \
  unsigned join : 2;      /* the number of its present join, or of the one that it gave up */ \
  bit gave_up;            /* it */ \
  bit begun;              /* it has a source */ \
  unsigned gen : 2;       /* of its buffers */ \
  bit outlived;           /* ghost: an older process of its rank has spoken since */
#define ROW_OF_THIS_HALF \
  unsigned pub : 2;       /* what it is listed with */ \
  unsigned gen : 2; \
  bit forming;            /* it waits for the others */ \
  unsigned join : 2;      /* by this call */

#include "hub.pml"

typedef Member {
  unsigned proc : 3;
  unsigned join : 2;
  bit already_held;
  bit begun;
  bit finished;
  bit known;
}

/* The group's newest fetch (R6.6, R6.7), and what is durable of it. */
Member member_of[RANKS];
byte open_fetch;   /* 0: none */
byte open_pub;
byte last_fetch;
bit last_ok;
byte last_proc[RANKS] = NOBODY;
bit owed[RANKS];

byte decided;      /* fetches so far */
byte latest = 1;   /* the version that others hold; there will be a second one */
byte giveups = GIVEUPS;
byte decided_for[RANKS] = NOBODY; /* ghost: of the last decision */
byte outcome[FETCHES + 1];        /* ghost */

/* R6.6: a hub with a store knows each decision that was made. Only one without learns of it. */
#ifdef FAILED_FETCH_IS_REOPENED
#define MAY_REOPEN 1
#else
#define MAY_REOPEN (!STORE)
#endif
#ifdef GIVEN_UP_IS_NOT_SAID
#define SAYS_WHAT_IT_GAVE_UP 0
#else
#define SAYS_WHAT_IT_GAVE_UP 1
#endif
#define IS_MEMBER(p) (open_fetch != 0 && member_of[RANK(p)].proc == p)
#define IS_IN(p) (IS_MEMBER(p) && proc[p].fetch == open_fetch)
#define HAS_WHOLE(p) (proc[p].phase == FINISHING || proc[p].holds == HELD)

inline InitOfThisHalf() { ForgetMembers() }
inline ForgetContent(p) { skip }
inline EndContent(p) {
  proc[p].phase = IDLE;
  proc[p].fetch = 0;
  proc[p].join = 0;
  proc[p].gave_up = 0;
  proc[p].begun = 0;
  proc[p].outlived = 0;
  proc[p].gen = 0
}
inline ForgetAnswer(r) { skip }
inline EndUnfinished(r, to) { skip }
inline TakeAlong(r) { skip }
inline ReportedHolding(p) { skip }
inline EndCalls(r) { skip }

inline DropReference(r) {
  row[r].ref = NONE;
  row[r].pub = 0;
  row[r].gen = 0
}
inline ForgetReference(r) { row[r].pub = 0; row[r].gen = 0 }

inline ForgetMembers() {
  for (k_ : 0 .. RANKS - 1) {
    member_of[k_].proc = NOBODY;
    member_of[k_].join = 0;
    member_of[k_].already_held = 0;
    member_of[k_].begun = 0;
    member_of[k_].finished = 0;
    member_of[k_].known = 0
  }
}

/* R6.2, R6.3: a fetch has one outcome, whatever becomes of the hub. */
inline Conclude(good) {
  assert(outcome[open_fetch] == OPEN || outcome[open_fetch] == (good -> SUCCEEDED : FAILED));
  outcome[open_fetch] = (good -> SUCCEEDED : FAILED);
  last_fetch = open_fetch;
  last_ok = good;
  for (k_ : 0 .. RANKS - 1) {
    last_proc[k_] = member_of[k_].proc;
    owed[k_] = (member_of[k_].proc != NOBODY)
  }
  ForgetMembers();
  open_fetch = 0;
  open_pub = 0
}

inline Abort() {
  if
  :: open_fetch != 0 ->
     for (k_ : 0 .. RANKS - 1) {
       if
       :: row[k_].alive && row[k_].proc == member_of[k_].proc && row[k_].ref == PART -> DropReference(k_)
       :: else
       fi
     }
     Conclude(0)
  :: else
  fi
}

inline AbortOf(p) {
  if
  :: IS_MEMBER(p) -> Abort()
  :: else
  fi
}

/* R6.7: the row stays until all ranks know the outcome. */
inline Acknowledge(p) {
  if
  :: last_fetch != 0 && last_proc[RANK(p)] == p -> owed[RANK(p)] = 0
  :: else
  fi
}

/* R6.2, R6.3: a success is of the processes that the decision was made for, and each has all bytes. */
inline CheckCommit() {
  for (k_ : 0 .. RANKS - 1) {
    assert(member_of[k_].proc == decided_for[k_]);
    assert(member_of[k_].proc == row[k_].proc);
    assert(proc[member_of[k_].proc].up == ENDED || HAS_WHOLE(member_of[k_].proc));
    assert(proc[member_of[k_].proc].up == ENDED || proc[member_of[k_].proc].pub == open_pub)
  }
}

inline CommitIfWhole() {
  if
  :: open_fetch != 0 ->
     flag_ = 1;
     for (k_ : 0 .. RANKS - 1) {
       flag_ = flag_ && member_of[k_].proc != NOBODY && member_of[k_].finished
     }
#ifdef COMMIT_BEFORE_ALL
     flag_ = 1;
#endif
     if
     :: flag_ ->
        CheckCommit();
        for (k_ : 0 .. RANKS - 1) {
          if
          :: row[k_].ref == PART -> row[k_].ref = WHOLE
          :: else
          fi
        }
        Conclude(1)
     :: else
     fi
  :: else
  fi
}

/* R6.1 */
inline Resolve() {
  flag_ = !recovering && open_fetch == 0 && decided < FETCHES;
  for (k_ : 0 .. RANKS - 1) {
    flag_ = flag_ && row[k_].forming
  }
  if
  :: flag_ ->
     decided++;
     open_fetch = decided;
     open_pub = latest;
     for (k_ : 0 .. RANKS - 1) {
       member_of[k_].proc = row[k_].proc;
       member_of[k_].join = row[k_].join;
       member_of[k_].already_held = (row[k_].ref == WHOLE && row[k_].pub == latest);
       member_of[k_].known = 1;
       decided_for[k_] = row[k_].proc;
       row[k_].forming = 0;
       row[k_].join = 0
     }
  :: else
  fi
}

inline LeaveFetch(r) {
  row[r].forming = 0;
  row[r].join = 0;
  if
  :: row[r].proc != NOBODY ->
     p_ = row[r].proc;
     AbortOf(p_)
  :: else
  fi
}

inline GiveUpFetches(r) {
  p_ = row[r].proc;
  proc[p_].outlived = (proc[p_].fetch != 0);
#ifndef REPLACED_STAYS_A_MEMBER
  AbortOf(p_);
#endif
  Acknowledge(p_)
}

inline On_JoinFetch(p, r) {
  Acknowledge(p);
  if
  :: IS_MEMBER(p) && member_of[r].join == proc[p].join -> member_of[r].known = 1
  :: else ->
     AbortOf(p);
     row[r].forming = 1;
     row[r].join = proc[p].join;
     Resolve()
  fi
}

/* R6.5 */
inline GiveUpJoin(p, r) {
  if
  :: proc[p].gave_up ->
     if
     :: row[r].join == proc[p].join -> row[r].forming = 0; row[r].join = 0
     :: else
     fi;
     if
     :: IS_MEMBER(p) && member_of[r].join == proc[p].join && !member_of[r].begun && !member_of[r].finished ->
        Abort()
     :: else
     fi
  :: else
  fi
}

inline On_BeginRead(p, r) {
  row[r].ref = PART;
  row[r].pub = open_pub;
  row[r].gen = proc[p].gen;
  member_of[r].begun = 1
}

inline On_FinishRead(p, r) {
  if
  :: proc[p].phase == FINISHING &&
     (member_of[r].already_held || (row[r].ref == PART && row[r].pub == open_pub)) ->
     member_of[r].finished = 1;
     CommitIfWhole()
  :: else -> Abort()
  fi
}

/* R6.2, R6.3: what a rank hears is the outcome of all. R6.7: and it hears it, unless an older
 * process has spoken for its rank meanwhile. */
inline HearOutcome(p, r) {
  assert(!STORE || last_fetch == proc[p].fetch || proc[p].outlived);
  flag_ = last_fetch == proc[p].fetch && last_ok;
  if
  :: flag_ ->
     assert(outcome[proc[p].fetch] == SUCCEEDED && HAS_WHOLE(p));
     proc[p].holds = HELD
  :: else ->
     assert(last_fetch != proc[p].fetch || outcome[proc[p].fetch] == FAILED);
     if
     :: proc[p].holds == FILLING -> Free(p)
     :: else
     fi
  fi;
  proc[p].phase = IDLE;
  proc[p].fetch = 0;
  proc[p].outlived = 0;
  proc[p].begun = 0
}

inline HearDecision(p, r) {
  proc[p].fetch = open_fetch;
  if
  :: member_of[r].already_held ->
     proc[p].phase = (proc[p].holds == HELD && proc[p].pub == open_pub -> FINISHING : FAILING)
  :: else ->
     proc[p].phase = READING;
     proc[p].gen++;
     proc[p].holds = FILLING;
     proc[p].pub = open_pub;
     row[r].stale = 0
  fi
}

/* R6.7, R8.6: what became of the fetch that fills the buffers. In e_: NONE, PART or WHOLE */
inline FillingOf(p, r) {
  e_ = NONE;
  if
  :: proc[p].holds == HELD -> e_ = WHOLE
  :: proc[p].holds == FILLING && last_fetch == proc[p].fetch && last_fetch != 0 ->
     e_ = (last_ok && proc[p].phase == FINISHING && last_proc[r] == p -> WHOLE : NONE)
  :: proc[p].holds == FILLING && !(last_fetch == proc[p].fetch && last_fetch != 0) ->
     if
     :: open_fetch == 0 -> e_ = (recovering && MAY_REOPEN -> PART : NONE)
     :: else -> e_ = (proc[p].fetch == open_fetch && (recovering || IS_MEMBER(p)) -> PART : NONE)
     fi
  fi
}

inline ListReported(p, r) {
  FillingOf(p, r);
  if
  :: row[r].stale || e_ == NONE ->
     if
     :: HAS_WHOLE(p) -> row[r].stale = 1
     :: else
     fi
  :: else ->
     row[r].ref = e_;
     row[r].pub = proc[p].pub;
     row[r].gen = proc[p].gen
  fi
}

inline Reopen(p, r) {
  if
  :: open_fetch == 0 -> open_fetch = proc[p].fetch; open_pub = proc[p].pub
  :: else
  fi;
  flag_ = row[r].ref != NONE && row[r].pub == open_pub;
  member_of[r].proc = p;
  member_of[r].already_held = flag_ && proc[p].holds == HELD;
  member_of[r].begun = flag_ && row[r].ref == PART;
  member_of[r].finished = flag_ && proc[p].phase == FINISHING;
  member_of[r].known = 1;
  if
  :: proc[p].holds == FILLING && row[r].ref == NONE -> Abort()
  :: else
  fi
}

/* R6.6, R8.6 */
inline MergeOpenFetch(p, r) {
  flag_ = proc[p].phase >= READING; /* it reports one */
  if
  :: flag_ && last_fetch == proc[p].fetch && last_fetch != 0
  :: else ->
     Acknowledge(p);
     if
     :: flag_ && IS_IN(p) && member_of[r].known ->
        if
        :: row[r].ref == PART -> member_of[r].begun = 1
        :: else
        fi
     :: flag_ && !(IS_IN(p) && member_of[r].known) ->
        if
        :: recovering && ((open_fetch == 0 && MAY_REOPEN) || open_fetch == proc[p].fetch) -> Reopen(p, r)
        :: else
        fi
     :: else
     fi
  fi
}

inline MergeReport(p, r) {
  if
  :: row[r].ref != NONE &&
     !(proc[p].holds != FREE && row[r].pub == proc[p].pub && row[r].gen == proc[p].gen) ->
     if
     :: IS_MEMBER(p) && (member_of[r].begun || member_of[r].finished || member_of[r].already_held) ->
        Abort()
     :: else
     fi;
     DropReference(r)
  :: else
  fi;
  if
  :: row[r].ref == NONE && proc[p].holds != FREE -> ListReported(p, r)
  :: else
  fi;
  MergeOpenFetch(p, r);
  if
  :: SAYS_WHAT_IT_GAVE_UP -> GiveUpJoin(p, r)
  :: else
  fi
}

/* R6.4, R6.5: who has not spoken of it by the end of the recovery votes by what it holds. */
inline SettleRecovered() {
  if
  :: open_fetch != 0 ->
     strange_ = 0;
     for (j_ : 0 .. RANKS - 1) {
       if
       :: member_of[j_].proc != NOBODY && member_of[j_].known
       :: else ->
          if
          :: row[j_].alive && row[j_].ref == WHOLE && row[j_].pub == open_pub ->
             member_of[j_].proc = row[j_].proc;
             member_of[j_].already_held = 1;
             member_of[j_].finished = 1;
             member_of[j_].known = 1
          :: else -> strange_ = 1
          fi
       fi
     }
     if
     :: strange_ -> Abort()
     :: else -> CommitIfWhole()
     fi
  :: else
  fi
}

inline EndRecovery() {
  recovering = 0;
  SettleEpoch();
  SettleRecovered();
  Resolve()
}

/* R6.6, R6.7: what a hub that restarts knows of the newest fetch. */
inline Restore() {
  for (j_ : 0 .. RANKS - 1) {
    row[j_].proc = NOBODY;
    row[j_].forming = 0;
    row[j_].join = 0;
    DropReference(j_)
  }
#ifdef DECISION_IS_NOT_KEPT
  open_fetch = 0;
#endif
  flag_ = 0;
  for (j_ : 0 .. RANKS - 1) {
    flag_ = flag_ || owed[j_]
  }
  if
  :: open_fetch != 0 ->
     for (j_ : 0 .. RANKS - 1) {
       row[j_].proc = member_of[j_].proc;
       member_of[j_].begun = 0;
       member_of[j_].finished = 0;
       member_of[j_].known = 0
     }
     last_fetch = 0
  :: open_fetch == 0 && flag_ ->
     for (j_ : 0 .. RANKS - 1) {
       row[j_].proc = last_proc[j_];
       owed[j_] = (last_proc[j_] != NOBODY)
     }
  :: else -> last_fetch = 0
  fi;
  if
  :: last_fetch == 0 ->
     last_ok = 0;
     for (j_ : 0 .. RANKS - 1) {
       last_proc[j_] = NOBODY;
       owed[j_] = 0
     }
  :: else
  fi
}

#define IS_DROPPED(p) (proc[p].phase == IDLE && proc[p].holds == HELD && row[RANK(p)].ref == NONE)

#define STEPS_OF_THIS_HALF(p, r) \
  :: d_step { \
       proc[p].phase == IDLE && SPEAKS(p) && RESUMED(p) && !IS_DROPPED(p) && decided < FETCHES -> \
       printf("%d/%d joins a fetch\n", RANK(p), p / RANKS); \
       proc[p].phase = JOINING; \
       proc[p].join++; \
       proc[p].gave_up = 0; \
       On_JoinFetch(p, r); \
       CheckTables() \
     } \
  :: d_step { \
       proc[p].phase == JOINING && SPEAKS(p) && !(row[r].forming && row[r].join == proc[p].join) && \
       !(IS_MEMBER(p) && member_of[r].join == proc[p].join && member_of[r].known) -> \
       printf("%d/%d joins it again\n", RANK(p), p / RANKS); \
       On_JoinFetch(p, r); \
       CheckTables() \
     } \
  :: d_step { \
       proc[p].phase == JOINING && HEARS(p) && IS_MEMBER(p) && \
       member_of[r].join == proc[p].join && member_of[r].known -> \
       printf("%d/%d hears the decision\n", RANK(p), p / RANKS); \
       HearDecision(p, r); \
       skip \
     } \
  :: d_step { \
       proc[p].phase == JOINING && giveups > 0 && !calm -> \
       printf("%d/%d gives its join up\n", RANK(p), p / RANKS); \
       giveups--; \
       proc[p].phase = IDLE; \
       proc[p].gave_up = 1 \
     } \
  :: d_step { \
       SAYS_WHAT_IT_GAVE_UP && proc[p].gave_up && HEARS(p) && \
       ((row[r].forming && row[r].join == proc[p].join) || \
         (IS_MEMBER(p) && member_of[r].join == proc[p].join && !member_of[r].begun)) -> \
       printf("%d/%d says that it gave its join up\n", RANK(p), p / RANKS); \
       GiveUpJoin(p, r); \
       skip \
     } \
  :: d_step { \
       proc[p].phase == READING && SPEAKS(p) && IS_IN(p) && \
       !(row[r].ref == PART && row[r].gen == proc[p].gen && member_of[r].begun && proc[p].begun) -> \
       printf("%d/%d begins to read\n", RANK(p), p / RANKS); \
       On_BeginRead(p, r); \
       proc[p].begun = 1 \
     } \
  :: d_step { \
       proc[p].phase == READING && proc[p].begun -> \
       printf("%d/%d has all bytes\n", RANK(p), p / RANKS); \
       proc[p].phase = FINISHING \
     } \
  :: d_step { \
       proc[p].phase == READING && proc[p].begun && !calm -> \
       printf("%d/%d cannot read on\n", RANK(p), p / RANKS); \
       proc[p].phase = FAILING \
     } \
  :: d_step { \
       proc[p].phase == READING && HEARS(p) && !IS_IN(p) -> \
       printf("%d/%d hears that its fetch is over\n", RANK(p), p / RANKS); \
       proc[p].phase = FAILING \
     } \
  :: d_step { \
       proc[p].phase >= FINISHING && SPEAKS(p) && IS_IN(p) && !member_of[r].finished -> \
       printf("%d/%d finishes\n", RANK(p), p / RANKS); \
       On_FinishRead(p, r); \
       skip \
     } \
  :: d_step { \
       proc[p].phase >= FINISHING && HEARS(p) && !IS_IN(p) -> \
       printf("%d/%d hears the outcome\n", RANK(p), p / RANKS); \
       HearOutcome(p, r); \
       skip \
     } \
  :: d_step { \
       proc[p].up == RUNS && HEARS(p) && IS_DROPPED(p) -> \
       printf("%d/%d hears that what it holds is dropped\n", RANK(p), p / RANKS); \
       Free(p); \
       skip \
     } \
  :: d_step { \
       p == 0 && latest == 1 && FETCHES > 1 && !calm -> \
       printf("another version is the latest\n"); \
       latest = 2 \
     }

inline CheckTables() {
  for (i_ : 0 .. RANKS - 1) {
    /* R6.3: a member that is gone or has restarted is in no fetch, once it is known who came back. */
    assert(recovering || open_fetch == 0 || (row[i_].alive && row[i_].proc == member_of[i_].proc));
    /* R8.1, R8.3: nor is it a holder of what it held before. */
    assert(row[i_].ref == NONE || row[i_].alive);
    assert(row[i_].ref != WHOLE || proc[row[i_].proc].up == ENDED || HAS_WHOLE(row[i_].proc) ||
           row[i_].gen != proc[row[i_].proc].gen)
  };
  skip
}

/* R6, R8.13: in the absence of faults a fetch that was decided ends, and all ranks hear how. */
inline CheckEnd() {
  assert(open_fetch == 0);
  flag_ = decided < FETCHES;
  for (i_ : 0 .. RANKS - 1) {
    flag_ = flag_ && row[i_].forming;
    if
    :: row[i_].session -> assert(proc[row[i_].proc].phase <= JOINING)
    :: else
    fi
  }
  assert(!flag_);
  skip
}
