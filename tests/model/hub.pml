/* Copyright 2026 The TensorHub Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What both halves of the model share: processes, the hub's rows of them, sessions, and the numbers
 * of the group's epochs. Names are those of server/core/group_epoch.cc and sessions.cc. An inline
 * is one of their functions. Variables that end with _ are an inline's own, and no part of a state.
 */

#define NOBODY PROCS
#define RANK(p) ((p) % RANKS) /* the processes of a rank come in the order of their numbers */
#define EPOCH(count) (life * 16 + (count))
#define LIFE_OF(epoch) ((epoch) / 16)
#define CONNECTED(p) (row[RANK(p)].proc == p && row[RANK(p)].session)
/* Nothing is heard, and no call is made, before the session's Welcome. */
#define HEARS(p) (CONNECTED(p) && row[RANK(p)].greeted)
#define SPEAKS(p) (proc[p].up == RUNS && row[RANK(p)].proc == p && row[RANK(p)].alive && row[RANK(p)].greeted)
#define RESUMED(p) (proc[p].told != 0)
#define IS_KNOWN(reported) (LIFE_OF(reported) < life || (reported) <= epoch)
#ifdef OUTLIVED_SPEAKS
#define JOINED_BEFORE(one, other) 0
#else
#define JOINED_BEFORE(one, other) ((one) != 0 && (one) < (other))
#endif

/* Hub::State::CheckIncarnation: whether a session of it is refused for good, or is opened now */
#define CAME_IN(p) (RESUMED(p) && IS_KNOWN(proc[p].came_in) -> proc[p].came_in : 0)
#define OTHER(p) (row[RANK(p)].proc != NOBODY && row[RANK(p)].proc != p)
#define FENCED(p) ((row[RANK(p)].fenced >> p) & 1)
#define IS_OLDER(p) (OTHER(p) && row[RANK(p)].alive && JOINED_BEFORE(CAME_IN(p), row[RANK(p)].came_in))
#define IS_NEWER(p) JOINED_BEFORE(row[RANK(p)].came_in, CAME_IN(p))
#define REFUSED(p) (FENCED(p) || IS_OLDER(p))
#define OPENS(p) (!REFUSED(p) && (!OTHER(p) || IS_NEWER(p) || !row[RANK(p)].session))

/* Process.up */
#define WAITS 0
#define RUNS 1
#define ENDED 2
/* Process.holds: ASKED is a publish without an answer, FILLING is a read */
#define FREE 0
#define ASKED 1
#define FILLING 1
#define HELD 2
/* Row.ref: PART is publishing, or filling */
#define NONE 0
#define PART 1
#define WHOLE 2

typedef Process {
  unsigned up : 2;
  unsigned told : 6;    /* its group's epoch, as it heard last; 0: it has met no hub */
  unsigned came_in : 6; /* as it heard first */
  unsigned holds : 2;
  unsigned pub : 3;     /* the publication that its buffers are of */
  PROCESS_OF_THIS_HALF
}

/* The hub's row of a rank, of which the newest process speaks (R8.3). */
typedef Row {
  unsigned proc : 3;
  bit alive;
  bit session;
  bit greeted;          /* its process has heard Welcome */
  bit seen;             /* by this life */
  unsigned told : 6;
  unsigned came_in : 6;
  unsigned fenced : 7;  /* processes, one bit each */
  unsigned ref : 2;
  bit stale;            /* the present generation of its process is refused */
  ROW_OF_THIS_HALF
}

Process proc[PROCS];
Row row[RANKS];

byte life = 1;
byte counter;      /* of the epochs of this life */
byte epoch;        /* the group's; 0: not known */
bit is_older;      /* the group, than this life */
bit recovering;
bit young = 1;     /* a lease has not passed since the start */
bit calm;          /* nothing fails any more */
byte cuts = CUTS;
byte kills = KILLS;
byte leases = LEASES;
byte forgets = FORGETS;
byte highest;      /* ghost: of all epochs that a hub has made */
byte newest[RANKS] = NOBODY; /* ghost: of the rank's processes that were ever welcome */

hidden byte e_, i_, j_, k_, p_, r_, told_;
hidden byte flag_, fresh_, older_, replaces_, unseen_, strange_, opens_;

/* R2.3: epochs only rise, whatever becomes of the hub. */
inline NewEpoch() {
  counter++;
  e_ = EPOCH(counter);
  assert(e_ > highest);
  highest = e_;
}

inline RaiseEpoch(to) {
  if
  :: to > epoch ->
     epoch = to;
     for (i_ : 0 .. RANKS - 1) {
       if
       :: row[i_].alive -> EndUnfinished(i_, to)
       :: else
       fi
     }
  :: else
  fi
}

/* Of the number that NewEpoch made. */
inline BeginEpoch() {
  RaiseEpoch(e_);
  for (i_ : 0 .. RANKS - 1) {
    if
    :: row[i_].alive -> row[i_].told = e_
    :: else
    fi
  }
}

inline AllWereTold() {
  flag_ = 1;
#ifdef ONE_SPEAKS_FOR_ALL
  flag_ = 0;
#endif
  for (i_ : 0 .. RANKS - 1) {
    if
#ifdef ONE_SPEAKS_FOR_ALL
    :: row[i_].alive && row[i_].told == epoch -> flag_ = 1
#else
    :: row[i_].alive && (row[i_].told != epoch || row[i_].told == 0) -> flag_ = 0
#endif
    :: else
    fi
  }
}

inline Known(reported) {
  e_ = reported;
#ifndef WITHOUT_KNOWN
  if
  :: IS_KNOWN(e_)
  :: else -> e_ = 0
  fi
#endif
}

/* R2.4, after EndRecovery has begun. */
inline SettleEpoch() {
  skip;
#ifndef WITHOUT_SETTLE
  AllWereTold();
  if
  :: flag_
  :: else ->
     NewEpoch();
     for (i_ : 0 .. RANKS - 1) {
       TakeAlong(i_)
     }
     BeginEpoch();
  fi
#endif
}

inline EndWorker(r) {
  LeaveFetch(r);
  row[r].alive = 0;
  row[r].session = 0;
#ifndef GONE_STAYS_LISTED
  DropReference(r);
#endif
  EndCalls(r)
}

/* R8.3: the newer one of two processes may come back. A later one of this life fences for good. */
inline Replace(p, r) {
  if
  :: row[r].alive -> EndWorker(r)
  :: else
  fi;
  GiveUpFetches(r);
  flag_ = RESUMED(p) && (!row[r].seen || JOINED_BEFORE(CAME_IN(p), row[r].came_in));
  if
  :: flag_
  :: else ->
     /* R8.3: nobody is fenced by an earlier process of its rank. */
     assert(row[r].proc < p);
     row[r].fenced = row[r].fenced | (1 << row[r].proc)
  fi;
  row[r].ref = NONE;
  ForgetReference(r);
  row[r].seen = 0;
  row[r].told = 0;
  row[r].came_in = 0;
  row[r].stale = 0
}

inline JoinEpoch(p, r) {
  if
  :: row[r].alive
  :: else ->
     unseen_ = !row[r].seen;
     fresh_ = unseen_ && !RESUMED(p);
     told_ = row[r].told;
     if
     :: unseen_ ->
        Known(proc[p].told);
        told_ = e_;
        ReportedHolding(p)
     :: else
     fi;
#ifdef EPOCHS_ARE_FORGOTTEN
     told_ = 0;
#endif
     is_older = is_older || (unseen_ && RESUMED(p));
     older_ = replaces_ || is_older || LIFE_OF(epoch) < life;
#ifdef WITHOUT_OLDER
     older_ = replaces_ || LIFE_OF(epoch) < life;
#endif
#ifdef RECOVERY_BEGINS_NO_EPOCH
     older_ = older_ && !recovering;
#endif
     flag_ = !unseen_ && LIFE_OF(told_) == life; /* followed */
#ifdef WITHOUT_FOLLOWED
     flag_ = 0;
#endif
     strange_ = 0;
     if
     :: !fresh_ && !flag_ && !recovering ->
        strange_ = replaces_ || told_ == 0 || told_ < epoch;
#ifdef WITHOUT_REPLACES
        strange_ = told_ == 0 || told_ < epoch;
#endif
        for (i_ : 0 .. RANKS - 1) {
          strange_ = strange_ || (row[i_].alive && told_ != epoch)
        }
     :: else
     fi;
#ifndef OLDER_ONE_IS_NO_NEWS
     strange_ = strange_ || (recovering && replaces_ && !fresh_);
#endif
#ifdef WHO_IS_LATE_BELONGS
     strange_ = 0;
#endif
     if
     :: (fresh_ && older_) || strange_ -> NewEpoch(); BeginEpoch()
     :: else
     fi;
#ifndef WITHOUT_RAISE
     RaiseEpoch(told_);
#endif
     if
     :: fresh_ || !recovering -> row[r].told = epoch
     :: else -> row[r].told = told_
     fi
  fi
}

/* Whether this life begins to recover with the first that remembers an earlier one. */
inline RemembersEarlierLife(p, r) {
  if
  :: !STORE && RESUMED(p) && row[r].proc != p && young && !recovering -> recovering = 1
  :: else
  fi
}

inline On_SessionOpened(p, r) {
  RemembersEarlierLife(p, r);
  replaces_ = OTHER(p) && row[r].seen;
  if
  :: OTHER(p) -> Replace(p, r)
  :: else
  fi;
  JoinEpoch(p, r);
  row[r].proc = p;
  row[r].alive = 1;
  row[r].session = 1;
  row[r].greeted = 0;
  row[r].seen = 1;
  if
  :: row[r].came_in != 0
  :: else ->
     row[r].came_in = (RESUMED(p) -> CAME_IN(p) : epoch)
  fi;
  if
  :: newest[r] == NOBODY || newest[r] < p -> newest[r] = p
  :: else
  fi;
  MergeReport(p, r);
}

/* Its buffers mean something else: a later generation. */
inline Free(p) {
  proc[p].holds = FREE;
  proc[p].pub = 0;
  ForgetContent(p);
  if
  :: row[RANK(p)].proc == p -> row[RANK(p)].stale = 0; ForgetAnswer(RANK(p))
  :: else
  fi
}
