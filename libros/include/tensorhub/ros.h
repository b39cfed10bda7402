// Copyright 2026 The TensorHub Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The public face of TensorHub: what a trainer and a rollout worker link.
//
//   auto client = tensorhub::Client::Connect({.server = "hub:7070", .model = "actor",
//                                             .group = "trainer", .rank = 0, .world_size = 2});
//   client.value()->Register(tensors);   // once: memory that keeps its address
//   client.value()->Publish(1);          // trainer: peers may read it from now on
//   client.value()->Unpublish();         // trainer: the buffers may change again
//   client.value()->Fetch(tensorhub::Latest());  // rollout: into the registered memory, in place
//
// The contract of the memory (R3, docs/protocol/rules.md): between Publish (or a Fetch that
// succeeded) and the return of Unpublish, the registered bytes must not change, and nothing that
// will change them may be enqueued. Fetch unpublishes first what the client held before.
// Registered memory must outlive the client. After an error the memory may still be held and
// served: whatever a call returned, call Unpublish before you write into the memory. It returns at
// once if nothing is held.
//
// Memory of a GPU (docs/gpu.md): all tensors of a client are on one device, the ranks of a group on
// any. "Enqueued" above is meant: a kernel that writes the tensors may be given to a stream only
// when Unpublish has returned. `stream` of PublishOptions lets Publish wait for the kernels that
// write them, that of FetchOptions lets Fetch wait for those that read them. What Fetch brought is
// seen by whatever any stream is given after it returned. If the memory is lost under a client
// (freed, or the device failed), the client ends: the call that runs and all later ones say why.
//
// Threads: a Client may be used from any thread; calls that change something (Register, Publish,
// Unpublish, Fetch, Leave) exclude one another, later ones wait, and their time begins when their
// turn comes. Calls block until their result is known or their deadline has passed. A Publish or
// Fetch that waits for a stream or event has no turn yet: its time runs, and if Leave is called
// meanwhile it fails with FAILED_PRECONDITION when the stream is done. No call may be running when
// the destructor begins. A process that was forked after a Connect can use no client,
// neither its parent's nor one of its own (FAILED_PRECONDITION): fork first, or start a new
// program.
//
// Callbacks run on the client's progress thread, which also serves peers: a callback that blocks
// for 0.1 s is a warning in the log, one that blocks for 3 s loses the peers that read from here.
// (That this worker lives the server hears meanwhile, and that it stands still.) It must not throw.
// What it calls of its own client is refused with FAILED_PRECONDITION, and Held says nothing;
// destroying the client there is a mistake.
//
// What Connect does to the process, once: it sets UCX_… variables in the environment that are not
// set already (so connect before other threads read the environment; children inherit them), hands
// back the handlers for SIGSEGV and the like that UCX installs when it is loaded, and silences
// gRPC's own log unless GRPC_VERBOSITY is set. Its threads take no signals. It logs warnings to
// standard error; TENSORHUB_LOG_LEVEL=debug|info|warn|error says more or less.
//
// Errors are absl::Status with one line that says what is wrong and what to do:
//   INVALID_ARGUMENT     the call is wrong: names, sizes, ranks, selectors that differ in a group
//   NOT_FOUND            no such model or version, or nobody holds it any more
//   ALREADY_EXISTS       the rank is taken; the version exists with another content
//   FAILED_PRECONDITION  not registered, still published, forked; or these tensors, or these slices
//                        of them, cannot be read from the version's (docs/layouts.md)
//   CANCELLED            Leave was called while this call ran (in WaitForVersion and List:
//                        FAILED_PRECONDITION), or its options' `cancel` was asked to stop. It
//                        ends within a tenth of a second then; a Fetch or Publish leaves what its
//                        deadline would leave (Held tells), and the client goes on
//   ABORTED              another rank of the group failed, or this worker was replaced
//   DEADLINE_EXCEEDED    the deadline passed; Publish and Fetch say what the buffers hold then
//   UNAVAILABLE          the server cannot be reached, or every source failed
//   DATA_LOSS            no copy agrees with the digests of what was published; of Health: these
//                        buffers changed while they were published
//   RESOURCE_EXHAUSTED   memory, or a limit of the server or of this process (open files)
//   UNKNOWN              the session was lost after the outcome was decided; fetch again to learn
//   it

// What to do about them, where nothing better is known:
//   again, the same call     UNAVAILABLE, DEADLINE_EXCEEDED, ABORTED (of a fetch), UNKNOWN,
//                            RESOURCE_EXHAUSTED (when the limit it names has room)
//   a new client             ABORTED where this worker was replaced, DATA_LOSS of Health, and
//                            whatever Health goes on saying
//   wait for another version NOT_FOUND, DATA_LOSS of Fetch
//   mend the program         INVALID_ARGUMENT, ALREADY_EXISTS, FAILED_PRECONDITION

#ifndef TENSORHUB_ROS_H_
#define TENSORHUB_ROS_H_

#if __cplusplus < 202002L
#error "tensorhub/ros.h needs C++20: -std=c++20"
#endif

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// What this header is of. The library that a program runs with says the same, or is a newer one:
// tensorhub::Version().
#define TENSORHUB_VERSION_MAJOR 0
#define TENSORHUB_VERSION_MINOR 1
#define TENSORHUB_VERSION_PATCH 0

namespace tensorhub {

// "0.1.0", of the library that is loaded.
const char* Version();

// A piece of a larger tensor: it begins at `offset` of `global_shape`; its extent is the tensor's
// own shape. A shard may hold several pieces of one name, as fused weights are held: each with a
// slice, of one dtype and global shape, and without overlap.
struct Slice {
  std::vector<uint64_t> global_shape;
  std::vector<uint64_t> offset;
};

// Where a tensor's memory is.
enum class Device { kHost, kCuda };

struct Tensor {
  std::string name;  // unique within the shard, or each with another slice
  // Memory that can be read, and written if it is fetched into; null only if bytes == 0. Any
  // alignment.
  void* data = nullptr;
  size_t bytes = 0;             // must equal the shape's product times the dtype's size
  std::string dtype;            // "BF16", "F32", "U8", …: the names of safetensors
  std::vector<uint64_t> shape;  // row-major, dense; a zero extent makes a tensor of no bytes
  Device device = Device::kHost;
  int device_index = 0;  // of kCuda: as this process counts, from 0 on
  std::optional<Slice> slice;
};

// Which version to fetch.
struct Selector {
  enum class Kind { kLatest, kExact, kNewerThan, kAny };
  Kind kind = Kind::kLatest;
  uint64_t version = 0;
};
// The newest version that ever became visible.
inline Selector Latest() { return {Selector::Kind::kLatest, 0}; }
// To Fetch exactly this one; to WaitForVersion this one or a newer one.
inline Selector Version(uint64_t version) { return {Selector::Kind::kExact, version}; }
// Waits for a version above this one that is held whole, then takes the newest of those. `latest`
// may be newer, and held by nobody. Without a number any will do, version 0 as well: so a worker's
// loop is Fetch(NewerThan(client->Held())), whether it holds something already or not.
inline Selector NewerThan(std::optional<uint64_t> version) {
  if (!version) return {Selector::Kind::kAny, 0};
  return {Selector::Kind::kNewerThan, *version};
}

// Whether chunks are held against digests (docs/protocol/digests.md). A publisher makes them
// beside what it does, unless kOff; Publish does not wait.
enum class Digests {
  // What comes from a worker whose `location` names this host is not checked, all else is (so also
  // what comes from this host, where no location is given), unless the environment variable
  // TENSORHUB_DIGESTS says `on` or `off`.
  kAuto,
  kOn,   // everything for which the publisher made digests
  kOff,  // nothing; what this client publishes, nobody can check
};

struct ConnectOptions {
  // HOST:PORT; where the hub has several servers, all of them, with commas.
  std::string server = "localhost:7070";
  // Names have 1 to 256 characters of printable ASCII, no space among them, and no `/` at either
  // end. The server remembers models for ever, ten thousand at most: one per training task, say,
  // not per run.
  std::string model;
  std::string group;  // the ranks that together hold one copy of the model
  uint32_t rank = 0;
  uint32_t world_size = 1;  // ranks in the group
  // region/datacenter/rack/host/device; trailing parts may be left out, and `-` stands for one that
  // is not known. Sources are chosen nearest first. Empty: what TENSORHUB_LOCATION says, if it is
  // set. Where no host is said it is this one, by its kernel's boot id: neighbours on a host find
  // each other, in whichever containers they are.
  std::string location;
  // The one of this host's networks by which peers read from here and are read: a device ("eth0"),
  // an address ("10.0.3.7") or a subnet ("10.0.0.0/8"). Empty: what TENSORHUB_DATA_ADDRESS says,
  // else all that lead out of the host. NOT_FOUND if there is none such.
  std::string data_address = {};
  // This worker may vanish at any time; versions are not entrusted to it alone.
  bool spot = false;
  // How long an unreachable server is retried before Connect fails. A successor of a worker whose
  // host vanished needs more than the server's lease (5 s unless it is set otherwise).
  std::chrono::milliseconds connect_timeout{5000};
  // Memory of this host that may be taken for copies: when this worker is the last to hold a
  // version that must not be lost (tensorhubctl retain, pin), Unpublish and Fetch make one first;
  // and when the last holder leaves, this group may be asked for one.
  // The shard's size per copy; the memory of one stays with the client, for the next. None is begun
  // where the host, or the container (control groups, version 2), has not as much left; processes
  // that begin at once do not know of each other. 0: none is made, and such an Unpublish fails.
  uint64_t host_copy_bytes = UINT64_MAX;
  // Opaque bytes that the server keeps with what this client publishes, for whoever asks its Admin
  // service (ListVersions names them, GetAttachment gives them): tensorhubctl keeps the headers of
  // safetensors files here. No call of Client returns them. At most 64 MiB.
  std::string attachment;
  Digests digests = Digests::kAuto;
  // Takes tensors on a GPU also where UCX cannot read them device to device (it is too old, or was
  // built without CUDA). What other hosts read then goes through host memory, on both sides, at a
  // fraction of the speed. Otherwise Register fails there.
  bool gpu_through_host = false;
  // TLS to the server, if any of these is given: files in PEM, read again when they change, so that
  // certificates are renewed under a client that is connected. Empty: what TENSORHUB_TLS_CA,
  // TENSORHUB_TLS_CERT, TENSORHUB_TLS_KEY and TENSORHUB_TOKEN_FILE say.
  std::string tls_ca = {};    // whose certificate the server has to have; empty: the system's
  std::string tls_cert = {};  // this client's own, where the server asks for one, and its key
  std::string tls_key = {};
  // A file with a token on one line, by which the server knows this client. It goes over TLS, or to
  // this host's loopback.
  std::string token_file = {};
  // HOST:PORT, or HOST:PORT-PORT for the first of those that is free: /metrics and /livez of all
  // clients of this process that name the same, in plain HTTP and to whoever asks
  // (docs/metrics.md). UNAVAILABLE if it cannot be had. Empty: what TENSORHUB_WORKER_HTTP says, if
  // it is set; where that cannot be had, a warning is logged and there is none.
  std::string http = {};
  // A folder that is there: this process writes what its clients fetch and serve into a file of its
  // own, for Perfetto and `tensorhubctl trace --workers` (docs/operations.md). Leave writes what is
  // left, and may take a second longer. FAILED_PRECONDITION
  // if it cannot. Empty: what TENSORHUB_TRACE says, if it is set; where that cannot be written to,
  // a warning is logged and there is none.
  std::string trace = {};
  std::stop_token cancel = {};
};

struct PublishOptions {
  // Return only when the version is visible, that is, when every rank of the group published it.
  bool wait_for_group = false;
  std::chrono::milliseconds timeout{60000};
  // Begin a new term of the model with this version, whatever others hold: for a trainer that went
  // back to an older checkpoint, or publishes a step again. Once every rank of the group has
  // published it, what earlier terms published under this number or above is superseded: no new
  // fetch gets it, and this version is the latest. Reads under way of it end; whoever holds it is
  // told (Health), and to it NewerThan(what it holds) means this term. Until then the old term
  // stands. Publishers of earlier terms are refused from then on, unless they supersede in turn.
  bool supersede = false;
  // For tensors on a GPU: what this stream (cudaStream_t, CUstream; null is the default stream) has
  // been given so far writes them; Publish waits until it is done, within `timeout`. Nothing else
  // on the device waits.
  std::optional<void*> stream = {};
  // The same by an event that was recorded behind that work (cudaEvent_t, CUevent).
  void* event = nullptr;
  std::stop_token cancel = {};
  // Called in the calling thread some twenty times a second while it waits for others, for what
  // that thread has to do meanwhile (a language's signal handlers). It may call this client, and
  // must not throw.
  std::function<void()> while_waiting = {};
};

struct UnpublishOptions {
  // How long readers that have no other source may go on reading. After it they fail cleanly. A
  // copy that has to be made first must be ready within this time, too.
  std::chrono::milliseconds drain_timeout{10000};
  // Give the buffers up even if a version that is to be kept is lost with them.
  bool force = false;
};

struct LeaveOptions {
  // As Unpublish's. A worker that is told to go within a grace time gives its readers most of it.
  std::chrono::milliseconds drain_timeout{10000};
};

struct FetchProgress {
  uint64_t version = 0;
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  std::string source;  // "group/rank" of the present source, empty before the first
};

struct FetchOptions {
  std::chrono::milliseconds timeout{600000};
  // Called on the progress thread, ten times a second at most; see above for what it may do.
  std::function<void(const FetchProgress&)> progress = {};
  // For tensors on a GPU: what this stream has been given so far reads them; Fetch waits until it
  // is done before it gives them up, within `timeout`. Give it nothing more that touches them
  // before Fetch returns.
  std::optional<void*> stream = {};
  std::stop_token cancel = {};
  // Where the only source of a rank, or a rank itself, falls silent, the group waits for it until
  // the timeout. False: it hears the error, and may fetch something else. Equal for all ranks.
  bool waits_out_outages = true;
  // The caller's own trace, as W3C's Trace Context writes it: 00-TRACE-SPAN-FLAGS. Goes into
  // what ConnectOptions::trace writes. INVALID_ARGUMENT if it is not one.
  std::string traceparent = {};
  // The version may have tensors, or parts of some, that no rank of the group has registered; they
  // are not read. Otherwise Fetch fails there with FAILED_PRECONDITION, which names the first ten.
  // One rank that wants all of it is enough for that.
  bool partial = false;
};

// What a version's content is, as everybody computes it alike: over the layouts and the bytes of
// all its shards (common/content_identity.h). Two publications of the same content that are cut
// into chunks alike have the same.
using ContentIdentity = std::array<uint8_t, 16>;

struct FetchResult {
  uint64_t version = 0;
  uint64_t bytes_read = 0;  // 0 if the version was held already
  // Bytes found unchanged in place and verified by hashing; neither read nor written. Always 0
  // where digests are not checked.
  uint64_t bytes_skipped = 0;
  // How the bytes came, for logs and tables: "served" or "one-sided", and the transport. Empty if
  // none came.
  std::string way;
  std::string sources;  // "trainer/0", or several, in the order used
  // A receipt: what the group has now, the same on all its ranks. None where the publisher makes no
  // digests.
  std::optional<ContentIdentity> identity;
};

struct WaitResult {
  uint64_t version = 0;  // the newest visible version
};

struct WaitOptions {
  // The number of versions by which the caller may lag: the wait ends when more than this many that
  // match the selector have become visible, before the call or during it. With NewerThan(10) and 2,
  // that is the third one above 10, whatever their numbers; the result is the newest. Latest and
  // Version(0) ignore it, since any version matches. A server that was restarted counts `latest`
  // and what is held; and no more than some thousands that nobody holds.
  uint64_t max_lag = 0;
  std::stop_token cancel = {};
};

struct Replica {
  std::string group;
  uint32_t ranks_complete = 0;
  uint32_t ranks = 0;
  std::string state;  // publishing, filling, complete, draining
};
struct VersionInfo {
  uint64_t version = 0;
  // publishing, visible, lost; superseded: by a later term, and held still. Of two with one number
  // the one of the later term comes last.
  std::string state;
  uint64_t bytes = 0;
  std::vector<Replica> replicas;
  std::optional<ContentIdentity> identity;  // none: the publisher has not hashed it (yet)
  uint64_t term = 0;  // in which it was published: how often a publisher had begun anew before
};

class Client {
 public:
  // Blocks until the server has accepted the worker. UNAVAILABLE: nobody answered within
  // connect_timeout. ALREADY_EXISTS: another live worker has this rank (retried likewise, since a
  // crashed predecessor may take a moment to be noticed). RESOURCE_EXHAUSTED: the server has its
  // workers or models already, or this process can open too few files. UNAUTHENTICATED: the server
  // wants a certificate or a token, or does not know this one. PERMISSION_DENIED: it may not read
  // the model. INVALID_ARGUMENT: options, the files of TLS among them;
  // or another world_size than ranks of the group have that are still counted in: wait for the
  // server's lease, or take a new group name.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ConnectOptions& options);

  // As Leave, with five seconds for readers, if that has not been called.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Names the memory of this rank's shard. Once per client; addresses stay fixed afterwards.
  // INVALID_ARGUMENT names the tensor: sizes that do not fit the shape, memory that overlaps
  // another tensor's, a null address, a repeated name, an unknown dtype; more than 2^20 tensors, or
  // than 79 MiB of names and shapes; tensors in host memory and on a GPU, or on several; an address
  // that is not where the tensor says it is: another device's, host memory's, managed, freed, too
  // short. FAILED_PRECONDITION: the second time; tensors on a GPU, and the driver is too old, this
  // build has no CUDA in it, or UCX cannot read the device. UNAVAILABLE: tensors on a GPU, and
  // there is no driver or no device. RESOURCE_EXHAUSTED: the device has no memory left for what its
  // driver needs. Nothing is registered then.
  absl::Status Register(const std::vector<Tensor>& tensors);

  // Makes the registered bytes readable as `version`. Returns when this rank is recorded; no byte
  // moves. Publishing again what is published already succeeds. A version that others hold (or
  // this worker's predecessor published) is compared first: the memory is hashed, which takes a
  // second for ten gigabytes or so; nobody reads from here before it was found to be the same.
  // While the server recovers, for one lease after its start, it waits unless the version is known
  // to be visible, or this rank to have published it; so does one that supersedes.
  //   FAILED_PRECONDITION  - nothing is registered, or memory of a GPU was freed since
  //                        - the buffers hold another version: unpublish it first
  //                        - `latest` is newer, `supersede` is not set, and nobody holds this
  //                          version
  //                        - another publisher has begun a new term since this process came, or
  //                          published or read last, and `supersede` is not set
  //                        - the buffers hold this version, and it is superseded; or `supersede` is
  //                          set, and it is not the latest: unpublish it first
  //                        - `stream` or `event` is being captured
  //                        - the server is another one than before, or runs on older data
  //                        - what is said at the top of forks, callbacks and Leave
  //   ALREADY_EXISTS       the version exists with another content: its layout, attachment or world
  //                        size, or its bytes (the first shard and chunk that differ are named); or
  //                        nobody can compare them, since digests are off here or where it was
  //                        published, or the shard was lost: publish under another number
  //   ABORTED              a new term was begun before this group had published it (who did so is
  //                        named); or a rank of the group restarted, published the version anew, or
  //                        was away for so long that the server has forgotten it; or one that came
  //                        late, or is there after the server's restart, is not known to have been
  //                        in the group: publish again
  //   DEADLINE_EXCEEDED    the server did not answer, or, with wait_for_group, the ranks that it
  //                        names have not published: this one stays recorded, and the version may
  //                        become visible; or the stream's work was not done, and nothing is
  //                        published
  absl::Status Publish(uint64_t version, const PublishOptions& options = {});

  // Returns when the buffers may change. Bounded by drain_timeout and two seconds, also without a
  // server. OK if nothing is published.
  //   RESOURCE_EXHAUSTED  the version must not be lost, nobody else keeps it, and no copy could be
  //                       made in time: nothing has changed, the buffers are still held
  absl::Status Unpublish(const UnpublishOptions& options = {});

  // Reads a version into the registered memory, from whichever worker is best; all ranks of the
  // group must call it with equal selectors, and all get the same version or the same error.
  // Afterwards this worker serves the version to others. Latest and Version of what nobody holds
  // are NOT_FOUND at once; NewerThan waits until the timeout. While the server recovers, for one
  // lease after its start at most, all of them wait, since holders may still report. Ends by the
  // timeout and a second, whatever becomes of the network. An outage is waited out until then: the
  // only source of a rank, or the last holder of the version, fell silent, or a rank is cut off
  // (waits_out_outages). What has arrived is not read again, also by another call after an error,
  // where digests are checked.
  //
  // What the buffers held is unpublished once the version is decided; its readers have ten seconds
  // of the timeout. An error before that (NOT_FOUND, INVALID_ARGUMENT, other tensors, a NewerThan
  // that waited in vain) leaves the old version held and served, and so does a decision that came
  // when the deadline had passed. A rank that held the decided version already goes on holding and
  // serving it, whatever became of the others. Otherwise nothing is held after an error, but for
  // RESOURCE_EXHAUSTED. Held tells.
  //   RESOURCE_EXHAUSTED  a rank's old version must not be lost, as Unpublish says, and is held
  //                       there as before. Unpublish({.force = true}), and fetch again
  //   ABORTED             another rank failed, restarted or gave up
  //   UNAVAILABLE         every source failed
  //   DATA_LOSS           no source has bytes that agree with the version's digests
  //   DEADLINE_EXCEEDED   not all ranks called in time, or the bytes did not come in time
  //   UNKNOWN             the server was lost at the very end; the next fetch tells
  absl::StatusOr<FetchResult> Fetch(const Selector& selector, const FetchOptions& options = {});

  // The version that the memory holds whole, whether it was published or fetched: peers may read
  // it, and it must not change. What remains after an error, say. Does not ask the server.
  std::optional<uint64_t> Held();

  // Whether the server counts this worker in. For whoever publishes and then only waits: nothing
  // else would say that nobody can find the version any more. Does not ask the server.
  //   UNAVAILABLE    it cannot be reached; readers under way are served, connecting goes on
  //   ABORTED        another worker took this rank's place; or what was held here is listed no more
  //                  (a rank of the group restarted before all had published, say): it is
  //                  unpublished, and may be published or fetched again
  //   OUT_OF_RANGE   a later term supersedes what is held here (PublishOptions::supersede): it is
  //                  over, though peers may read it on; fetch
  //   DATA_LOSS      the memory no longer holds what was published or fetched, as was found when a
  //                  reader complained; nobody reads it until the next Publish or Fetch
  //   others         what the server refused this worker for; connect a new client
  absl::Status Health();

  // Blocks until a version matches the selector (Latest: any; Version(n): n or newer; NewerThan(n)
  // of what is held here, or was last: also what supersedes it, whatever its number). It goes by
  // what became visible: nobody may hold that version any more, and a Fetch of it is NOT_FOUND
  // then, or, by NewerThan, waits.
  //   DEADLINE_EXCEEDED   none did within `timeout`, or the server was away or recovered so long
  //   RESOURCE_EXHAUSTED  the server has too many who wait
  absl::StatusOr<WaitResult> WaitForVersion(const Selector& selector,
                                            std::chrono::milliseconds timeout,
                                            const WaitOptions& options = {});

  // What the server lists for this model, oldest first. NOT_FOUND: no worker ever joined the model.
  // UNAVAILABLE: the server is not reached, or does not answer. It is asked twice, for the versions
  // and then for who holds them, each time for ten seconds: twenty in all. A version that came in
  // between is not listed.
  absl::StatusOr<std::vector<VersionInfo>> List();

  // Orderly goodbye: unpublishes, tells the server, stops serving. Idempotent, and later callers
  // wait for the first; other calls fail with FAILED_PRECONDITION afterwards. A Fetch or Publish
  // that runs in another thread ends with CANCELLED first. Bounded by drain_timeout and six
  // seconds, also without a server: for the thread that waits for SIGTERM. Only a worker on a GPU
  // that is just making a host copy takes longer: page-locking the memory for it cannot be
  // interrupted, and takes about a second for a few gigabytes of the shard.
  absl::Status Leave(const LeaveOptions& options = {});

  // Host memory that peers on this host can read without this process's help, zeroed and page
  // aligned. It lives as long as the client. RESOURCE_EXHAUSTED if the host gives no more. Runs on
  // the progress thread, and writes the memory once: allocate tens of gigabytes before the first
  // Publish or Fetch.
  absl::StatusOr<void*> Allocate(size_t bytes);

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tensorhub

#endif  // TENSORHUB_ROS_H_
