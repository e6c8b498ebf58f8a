// Package relay keeps print requests in one NATS JetStream stream until the restaurants' boxes have fetched them, so
// that an order is safe while a box is switched off or cut off, and no box needs a public address.
//
// A [Stream] stores each accepted request, replicated and synced, before the service gets its 200. A [Door] hands the
// requests of a venue to its box over HTTP, one after another, until the box has said that it has them. The consumer
// that it fetches from is the record of the venue, too.
//
// The stream's own rule is the deduplication: a subject holds one message, and the subject is made of the venue and
// the id of the request. A message stays until it is older than the retention, whether a box has fetched it or not.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"ticketrail/receiver/contract"
)

// The names in NATS.
const (
	StreamName = "REQUESTS"
	// AckWait is how long the stream waits for a box that has a request before it hands it out again.
	AckWait = 3 * time.Second

	subjects = "requests"
	refused  = "refused" // in the place of an id: no id is encoded like that

	// headerDigest is in hex. The other headers of a message are those of its answer to a box, see package source.
	headerDigest = "Ticketrail-Digest"

	// headroom is for the subject and the headers of a message: most of it is a device id of escaped bytes.
	headroom = 64 << 10
)

// Options configure a [Stream].
type Options struct {
	Replicas int           // 3; fewer only where orders may be lost
	MaxAge   time.Duration // how long a request is kept, and how long its retry is known
	MaxBytes int64         // of all requests
	MaxBody  int64         // of a request; the largest that the receiver accepts
	Shrink   bool          // Open may make the stream shorter or smaller than it is, or with fewer copies
	Logger   *slog.Logger
}

// A Stream stores requests, and has the venues and how much waits for each. It has no state but the connection: any
// number of relays may have one. It is safe for concurrent use.
type Stream struct {
	o      Options
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream // nil before Open or Attach
	log    *slog.Logger

	failed chan struct{}  // has a value when a request was not stored
	outage rate.Sometimes // limits the lines of the log that say so
	keep   *rate.Limiter  // of refused bodies, in bytes
}

// New makes a [Stream]. Open or Attach must succeed before it is used.
func New(nc *nats.Conn, o Options) *Stream {
	js, _ := jetstream.New(nc) // without options it does not fail
	return &Stream{o: o, nc: nc, js: js, log: o.Logger.With("component", "relay"), failed: make(chan struct{}, 1),
		outage: rate.Sometimes{Interval: outageEvery}, keep: rate.NewLimiter(keepRate, keepBurst)}
}

// Open creates the stream, or checks and updates the one that is there: only a relay does, at its start and when its
// servers have lost the stream. It fails while no server is reached, or the cluster has no leader, and of several that
// create the same at once only one is answered: the caller tries again.
func (s *Stream) Open(ctx context.Context) error {
	if !s.nc.IsConnected() { // it does not know the limits of its servers
		return errNoServer
	}
	if most := s.nc.MaxPayload(); s.o.MaxBody+headroom > most {
		return fmt.Errorf("open the relay's stream: the NATS server takes messages of at most %d bytes, and "+
			"receiver.max_body is %d: set max_payload to at least %d in the configuration of each server, or lower "+
			"max_body", most, s.o.MaxBody, s.o.MaxBody+headroom)
	}

	stream, err := s.ensure(ctx)
	if err != nil {
		return fmt.Errorf("open the relay's stream %s: %w", StreamName, explain(err))
	}
	if s.stream == nil { // one that was made anew has the same name
		s.stream = stream
	}
	return nil
}

// Attach is [Stream.Open] for who only looks, or changes venues: it does not change the stream.
func (s *Stream) Attach(ctx context.Context) (err error) {
	if s.stream, err = s.js.Stream(ctx, StreamName); errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: the first start of a relay makes it", err)
	}
	if err != nil {
		return fmt.Errorf("look at the relay's stream %s: %w", StreamName, explain(err))
	}
	return nil
}

var errNoServer = errors.New("no server of the relay can be reached")

// ensure creates the stream, or makes the one that is there as it must be.
func (s *Stream) ensure(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) { // another relay that creates the same is no error
		return s.js.CreateStream(ctx, s.o.wanted(jetstream.StreamConfig{}))
	}
	if err != nil {
		return nil, err
	}

	have := stream.CachedInfo().Config
	want := s.o.wanted(have)
	if !s.o.Shrink {
		asked := want
		keepLarger(have, &want)
		if kept := differences(want, asked); kept != "" {
			s.log.Error("the stream stays as large as it is: correct the relay's configuration, or start one relay "+
				"with --shrink, and orders that no longer fit are deleted", "differ", kept)
		}
	}

	return s.change(ctx, stream, want)
}

// change changes a stream that is there.
func (s *Stream) change(ctx context.Context, stream jetstream.Stream, want jetstream.StreamConfig,
) (jetstream.Stream, error) {
	have := stream.CachedInfo().Config
	differ := differences(have, want)
	if differ == "" {
		return stream, nil
	}

	changed, err := s.js.UpdateStream(ctx, want)
	// A relay with the size of before is better than none.
	if isFull(err) && want.Replicas == have.Replicas && want.MaxBytes != have.MaxBytes {
		s.log.Error("the stream stays as large as it is", "differ", differ, "err", explain(err))
		want.MaxBytes = have.MaxBytes
		return s.change(ctx, stream, want)
	}
	if err != nil {
		return nil, fmt.Errorf("change it (%s): %w; correct the relay's configuration, or change or remove the stream "+
			"by hand", differ, err)
	}
	s.log.Warn("the stream was changed", "differ", differ)
	return changed, nil
}

// keepLarger keeps each limit of have where want would delete orders or have fewer copies of them. A relay that was
// given an old file must not cost an order.
func keepLarger(have jetstream.StreamConfig, want *jetstream.StreamConfig) {
	want.Replicas = max(want.Replicas, have.Replicas)
	if have.MaxAge == 0 || have.MaxAge > want.MaxAge { // 0: for ever
		want.MaxAge = have.MaxAge
	}
	if have.MaxBytes <= 0 || have.MaxBytes > want.MaxBytes { // not above 0: no limit
		want.MaxBytes = have.MaxBytes
	}
}

// wanted sets the fields that the promises of [Stream.Accept] stand on. Placement, tags and the like are the
// operator's.
func (o Options) wanted(c jetstream.StreamConfig) jetstream.StreamConfig {
	c.Name, c.Subjects = StreamName, []string{subjects + ".>"}
	c.Retention, c.Storage = jetstream.LimitsPolicy, jetstream.FileStorage
	c.Replicas, c.MaxAge, c.MaxBytes = o.Replicas, o.MaxAge, o.MaxBytes
	c.MaxMsgs, c.MaxMsgSize = -1, -1
	// A known id is refused, and a full stream refuses new ones: neither ever removes an order.
	c.MaxMsgsPerSubject, c.Discard, c.DiscardNewPerSubject = 1, jetstream.DiscardNew, true
	// A replica that is behind would answer that a stored request is not there.
	c.AllowDirect = false
	c.DenyDelete, c.DenyPurge, c.AllowRollup = true, true, false
	return c
}

// differences says which of the settings of wanted differ.
func differences(have, want jetstream.StreamConfig) string {
	var list []string
	haveFields, wantFields := reflect.ValueOf(have), reflect.ValueOf(want)
	for field, haveValue := range haveFields.Fields() {
		haveText, wantText := fmt.Sprint(haveValue), fmt.Sprint(wantFields.FieldByIndex(field.Index))
		if haveText != wantText {
			list = append(list, fmt.Sprintf("%s is %s, want %s", field.Name, haveText, wantText))
		}
	}
	return strings.Join(list, ", ")
}

// ofVenue is the pattern of all subjects of a venue.
func ofVenue(venue string) string { return subjects + "." + venue + ".>" }

// subjectOf is where the request of an id is stored. The id is the service's text: one that is not a UUID may
// have bytes that a subject cannot have, so its hash stands for it.
func subjectOf(venue, id string) string {
	token, isUUID := contract.CanonicalID(id)
	if !isUUID {
		token = "h" + Hash(id)
	}
	return subjects + "." + venue + "." + token
}
