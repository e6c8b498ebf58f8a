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
	"crypto/sha256"
	"encoding/hex"
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

	// headroom is for the subject and the headers of a message: most of it is a device id of escaped bytes.
	headroom = 64 << 10
)

// The headers of a message. Texts of callers are quoted as in Go source, in ASCII, so that no byte of it can end
// a header.
const (
	headerID       = "Ticketrail-Id"
	headerDevice   = "Ticketrail-Device"
	headerDigest   = "Ticketrail-Digest"   // hex
	headerReceived = "Ticketrail-Received" // RFC 3339 with nanoseconds
)

// Options configure a [Stream].
type Options struct {
	Replicas int           // 3; fewer only where orders may be lost
	MaxAge   time.Duration // how long a request is kept, and how long its retry is known
	MaxBytes int64         // of all requests; 0: as much as the servers have
	MaxBody  int64         // of a request; the largest that the receiver accepts
	Shrink   bool          // Open may make the stream shorter, smaller or less often stored than it is

	Logger *slog.Logger // nil: nothing is logged
}

// A Stream stores requests, and has the venues and how much waits for each. It has no state but the connection: any
// number of relays may have one. It is safe for concurrent use.
type Stream struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	log     *slog.Logger
	refused keeper
	outage  outage
}

// Open creates the stream, or checks and updates the one that is there: only the start of a relay does.
// It fails while no server is reached, or the cluster has no leader, and of several that create the same at once only
// one is answered: the caller tries again.
func Open(ctx context.Context, nc *nats.Conn, o Options) (*Stream, error) {
	if !nc.IsConnected() { // it does not know the limits of its servers
		return nil, fmt.Errorf("open the relay's stream: %w", noServer(nc))
	}
	if most := nc.MaxPayload(); o.MaxBody+headroom > most {
		return nil, fmt.Errorf("open the relay's stream: the NATS server takes messages of at most %d bytes, and "+
			"receiver.max_body is %d: set max_payload to at least %d in the configuration of each server, or lower "+
			"max_body", most, o.MaxBody, o.MaxBody+headroom)
	}

	stream, err := newStream(nc, o)
	if err != nil {
		return nil, err
	}
	if stream.stream, err = ensureStream(ctx, stream.js, o, stream.log); err != nil {
		return nil, fmt.Errorf("open the relay's stream %s: %w", StreamName, explain(err))
	}
	return stream, nil
}

// Attach is [Open] for who only looks, or changes venues: it does not change the stream.
func Attach(ctx context.Context, nc *nats.Conn) (*Stream, error) {
	stream, err := newStream(nc, Options{})
	if err != nil {
		return nil, err
	}
	if stream.stream, err = stream.js.Stream(ctx, StreamName); errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: the first start of a relay makes it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("look at the relay's stream %s: %w", StreamName, explain(err))
	}
	return stream, nil
}

func newStream(nc *nats.Conn, o Options) (*Stream, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, fmt.Errorf("open the relay's stream: %w", err)
	}
	return &Stream{nc: nc, js: js, log: o.Logger.With("component", "relay"),
		refused: keeper{limit: rate.NewLimiter(keepRate, keepBurst)}, outage: outage{seen: make(chan struct{}, 1)}}, nil
}

var errNoServer = errors.New("no server of the relay can be reached")

// noServer says why there is no connection, if that is known.
func noServer(nc *nats.Conn) error {
	if last := nc.LastError(); last != nil {
		return fmt.Errorf("%w: %w", errNoServer, last)
	}
	return errNoServer
}

// ensureStream creates the stream, or makes the one that is there as it must be.
func ensureStream(ctx context.Context, js jetstream.JetStream, o Options, log *slog.Logger) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, StreamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return js.CreateStream(ctx, o.wanted(jetstream.StreamConfig{})) // another relay that does the same is no error
	}
	if err != nil {
		return nil, err
	}

	have := stream.CachedInfo().Config
	want := o.wanted(have)
	if !o.Shrink {
		if kept := o.keepLarger(have, &want); kept != "" {
			log.Error("the stream stays as large as it is: correct the relay's configuration, or start one relay with "+
				"--shrink, and orders that no longer fit are deleted", "differ", kept)
		}
	}

	differ := differences(have, want)
	if differ == "" {
		return stream, nil
	}
	if have.Retention != want.Retention || have.Storage != want.Storage {
		return nil, fmt.Errorf("there is one that ticketrail did not create (%s): rename or remove that one", differ)
	}

	changed, err := js.UpdateStream(ctx, want)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && isFull(api) {
		// A relay with the limit of before is better than none.
		log.Error("nats.max_bytes is not used, the one of before stays", "want", o.MaxBytes, "have", have.MaxBytes,
			"err", explain(err))
		want.MaxBytes = have.MaxBytes
		if differ = differences(have, want); differ == "" {
			return stream, nil
		}
		changed, err = js.UpdateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("change it (%s): %w; correct the relay's configuration, or change the stream by hand",
			differ, err)
	}
	log.Warn("the stream was changed", "differ", differ)
	return changed, nil
}

// keepLarger keeps each limit of have where want would delete orders or have fewer copies of them, and names these
// limits. A relay that was given an old file must not cost an order.
func (o Options) keepLarger(have jetstream.StreamConfig, want *jetstream.StreamConfig) string {
	asked := *want
	want.Replicas = max(want.Replicas, have.Replicas)
	if have.MaxAge == 0 || want.MaxAge > 0 && have.MaxAge > want.MaxAge { // 0: for ever
		want.MaxAge = have.MaxAge
	}
	if have.MaxBytes <= 0 || want.MaxBytes > 0 && have.MaxBytes > want.MaxBytes { // not above 0: no limit
		want.MaxBytes = have.MaxBytes
	}
	return differences(*want, asked)
}

// wanted sets the fields that the promises of [Stream.Accept] stand on. Placement, tags and the like are the
// operator's.
func (o Options) wanted(c jetstream.StreamConfig) jetstream.StreamConfig {
	c.Name, c.Subjects = StreamName, []string{subjects + ".>"}
	c.Retention, c.Storage = jetstream.LimitsPolicy, jetstream.FileStorage
	c.Replicas, c.MaxAge, c.MaxBytes = o.Replicas, o.MaxAge, o.MaxBytes
	if c.MaxBytes == 0 {
		c.MaxBytes = -1
	}
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
		sum := sha256.Sum256([]byte(id))
		token = "h" + hex.EncodeToString(sum[:])
	}
	return subjects + "." + venue + "." + token
}
