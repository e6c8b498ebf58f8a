package relay

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

const (
	// answerTime is for writing an answer without a request.
	answerTime = 30 * time.Second
	// ackTime is for the servers' answer that a request has ended.
	ackTime = 2 * time.Second
	// maxAck is many times the size of a source.Ack.
	maxAck = 16 << 10

	// A wrong token cannot be guessed: its limits are for the work and the log that it causes.
	wrongAtOnce    = 200
	wrongPerSecond = 20 // a hundred boxes with an old token, each of which tries every five seconds
)

// errRevoked ends a poll before its time.
var errRevoked = errors.New("the token is not valid any more")

// A Door answers the boxes. It keeps nothing that another relay would need: any of them can answer.
//
// A handle is the address in NATS at which a request is acknowledged, sealed with a key of the relays and bound to the
// venue. So a box can end a request that it was handed, once or again, and no other.
type Door struct {
	stream *Stream
	caller func(*http.Request) string
	seal   cipher.AEAD

	wrong      prometheus.Counter // requests with a token that is of no venue
	wrongLimit *rate.Limiter      // of those that are told so
	wrongLog   rate.Sometimes

	changed chan struct{} // has a value when the venues may have changed

	mu       sync.Mutex        // guards the fields below
	tokens   map[string]string // the venues, by the hashes of their tokens
	complete bool              // all venues are among them
	rooms    map[string]*room  // of the venues whose boxes have asked
	boxes    map[string]Box    // by their venues
	closed   bool
}

// Hash is a text in hex, of a known length: a token as the servers have it, or a part of a subject.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// NewDoor makes a [Door], which is told of new requests and of boxes from then on. It lets no box in before SetVenues.
// The secret is common to all relays: each can acknowledge a request that another one has handed out. caller is the
// address of a request's sender. A nil reg has no metrics.
func (s *Stream) NewDoor(secret string, caller func(*http.Request) string, reg prometheus.Registerer) *Door {
	key := sha256.Sum256([]byte("ticketrail handle " + secret))
	block, _ := aes.NewCipher(key[:]) // with a key of this size, neither fails
	seal, _ := cipher.NewGCMWithRandomNonce(block)
	door := &Door{stream: s, caller: caller, seal: seal, rooms: map[string]*room{}, boxes: map[string]Box{},
		changed: make(chan struct{}, 1), wrongLimit: rate.NewLimiter(wrongPerSecond, wrongAtOnce),
		wrongLog: rate.Sometimes{Interval: time.Minute},
		wrong: promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "ticketrail_relay_wrong_tokens_total",
			Help: "Requests with a token that is of no venue."})}

	for subject, handle := range map[string]nats.MsgHandler{
		subjects + ".>": door.stored, boxesSubject + ".*": door.noteReport, boxesSubject: door.tell,
		venuesSubject: func(*nats.Msg) { door.Look() },
	} {
		_, _ = s.nc.Subscribe(subject, handle) // it fails only after Close
	}
	return door
}

// Changed has a value when it is time to look at the venues: see [Stream.Sites].
func (d *Door) Changed() <-chan struct{} { return d.changed }

// Look says that it is.
func (d *Door) Look() { ring(d.changed) }

// ring puts a value into a channel with one place, unless it has one.
func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// Run wakes all boxes whenever the connection to the servers was made again, because nothing was heard without it. It
// returns nil when ctx ends, and then no box waits any more.
func (d *Door) Run(ctx context.Context) error {
	connected := d.stream.nc.StatusChanged(nats.CONNECTED)
	defer d.stream.nc.RemoveStatusListener(connected)

	for {
		select {
		case <-connected:
			d.Look()
			d.each((*room).stir)
		case <-ctx.Done():
			d.mu.Lock()
			d.closed = true
			d.mu.Unlock()
			d.each(func(r *room) { r.end(nil) })
			return nil
		}
	}
}

// SetVenues lets in the boxes of these venues, and no others from then on: a box that waits with another token is told.
// If they are not complete, a token of none may be right.
func (d *Door) SetVenues(all []VenueEntry, complete bool) {
	tokens := map[string]string{}
	for _, v := range all {
		tokens[v.Token] = v.ID // no token has a hash that is not in hex
	}

	d.mu.Lock()
	d.tokens, d.complete = tokens, complete
	d.mu.Unlock()

	d.each(func(r *room) {
		if r.newest != nil && tokens[r.newest.token] != r.newest.venue {
			r.end(errRevoked)
		}
	})
}

// Handler answers the two addresses for boxes.
func (d *Door) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]func(http.ResponseWriter, *http.Request, *poll){
		"HEAD " + source.PathNext: d.look, "GET " + source.PathNext: d.next, "POST " + source.PathAck: d.ack,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			caller, ok := d.admit(w, r)
			if !ok {
				receiver.Linger(w)
				return
			}
			answer(w, r, caller)
		})
	}
	return mux
}

// admit finds the venue of a token, or answers.
func (d *Door) admit(w http.ResponseWriter, r *http.Request) (p *poll, ok bool) {
	// The scheme's name may be written in any case.
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	p = &poll{token: Hash(text), wake: make(chan struct{}, 1)}

	d.mu.Lock()
	complete := d.complete
	p.venue = d.tokens[p.token]
	p.room = d.room(p.venue)
	d.mu.Unlock()

	if p.venue == "" || !strings.EqualFold(scheme, "bearer") {
		w.Header().Set("Connection", "close")
		if !complete {
			refuse(w, http.StatusServiceUnavailable, 5, "not all venues can be read now")
			return nil, false
		}

		d.wrong.Inc()
		d.wrongLog.Do(func() {
			d.stream.log.Warn("somebody shows a token that is of no venue", "address", d.caller(r))
		})
		if !d.wrongLimit.Allow() {
			refuse(w, http.StatusTooManyRequests, 60, "too many wrong tokens")
			return nil, false
		}
		http.Error(w, "no venue has this token; a box gets its token by ticketrail relay venues add or renew",
			http.StatusUnauthorized)
		return nil, false
	}

	if want := r.Header.Get(source.HeaderVenue); want != "" && want != p.venue {
		http.Error(w, "this token is of venue "+p.venue, http.StatusForbidden)
		return nil, false
	}

	if report := r.Header.Get(source.HeaderBox); len(report) <= maxReport { // all relays hear it, this one included
		_ = d.stream.nc.Publish(boxesSubject+"."+p.venue, []byte(report))
	}
	return p, true
}

// refuse tells a box to come back after some seconds.
func refuse(w http.ResponseWriter, status, after int, why string) {
	w.Header().Set("Retry-After", strconv.Itoa(after))
	http.Error(w, why, status)
}

// look says how many requests of a venue wait.
func (d *Door) look(w http.ResponseWriter, r *http.Request, p *poll) {
	w.Header().Set("Cache-Control", "no-store")
	if !p.room.idle.Allow() {
		refuse(w, http.StatusTooManyRequests, 5, "")
		return
	}

	consumer, err := d.stream.consumer(r.Context(), p.venue)
	if err != nil {
		http.Error(w, "", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set(source.HeaderBehind, strconv.FormatUint(waiting(consumer.CachedInfo()), 10))
	w.WriteHeader(http.StatusNoContent)
}

// next hands out the oldest request of a venue that is not acknowledged, or waits for one.
func (d *Door) next(w http.ResponseWriter, r *http.Request, p *poll) {
	w.Header().Set("Cache-Control", "no-store") // the same answer again would keep the box from all others
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)

	p.end = end
	if why := d.enter(p); why != "" {
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusTooManyRequests, 5, why)
		return
	}

	// The limits of the server are for requests that are answered at once.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(source.PollTime + answerTime)) // of a body that is not needed
	_ = conn.SetWriteDeadline(time.Now().Add(source.PollTime + answerTime))

	ctx, cancel := context.WithTimeout(ctx, source.PollTime)
	defer cancel()
	found, err := d.fetch(ctx, p)
	defer d.leave(p, found == nil && ctx.Err() != nil)

	switch {
	case found != nil:
		// An acknowledgement that comes late counts all the same.
		_ = conn.SetWriteDeadline(time.Now().Add(source.BodyTime(int64(len(found.Data())))))
		d.hand(w, p.venue, found)
	case errors.Is(context.Cause(ctx), errRevoked):
		http.Error(w, errRevoked.Error(), http.StatusUnauthorized)
	case err != nil && ctx.Err() == nil:
		refuse(w, http.StatusServiceUnavailable, 1, "the servers do not say what waits")
	default:
		w.Header().Set(source.HeaderBehind, "0")
		w.WriteHeader(http.StatusNoContent)
	}
}

// hand writes a request. A crash before the box has it leaves it unacknowledged: it is handed out again.
func (d *Door) hand(w http.ResponseWriter, venue string, f *found) {
	header := w.Header()
	for _, name := range []string{source.HeaderID, source.HeaderDevice, source.HeaderReceived, source.HeaderRefused} {
		header.Set(name, f.Headers().Get(name))
	}
	header.Set(source.HeaderHandle, d.handle(venue, f.Reply()))
	header.Set(source.HeaderAge, f.age.String())
	header.Set(source.HeaderBehind, strconv.FormatUint(f.behind, 10))
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Length", strconv.Itoa(len(f.Data())))
	_, _ = w.Write(f.Data()) // a box that is gone asks again
}

// ack ends a request. It answers when the servers have stored that; asked again, it answers the same.
func (d *Door) ack(w http.ResponseWriter, r *http.Request, p *poll) {
	var a source.Ack
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAck)).Decode(&a)
	how := map[string]string{source.Stored: "+ACK", source.Refused: fmt.Sprintf("+TERM %.200q", a.Reason)}[a.Result]
	subject, mine := d.open(p.venue, a.Handle)
	if err != nil || how == "" || !mine {
		http.Error(w, "no request of this venue has this handle, or the result is neither stored nor refused",
			http.StatusBadRequest)
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), ackTime)
	defer cancel()
	if _, err := d.stream.nc.RequestWithContext(ctx, subject, []byte(how)); err != nil {
		refuse(w, http.StatusServiceUnavailable, 1, "the servers do not say that they have it")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *Door) handle(venue, subject string) string {
	return base64.RawURLEncoding.EncodeToString(d.seal.Seal(nil, nil, []byte(subject), []byte(venue)))
}

// open is the opposite of handle; false: it is not one of this venue.
func (d *Door) open(venue, handle string) (subject string, ok bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(handle)
	if err != nil {
		return "", false
	}
	text, err := d.seal.Open(nil, nil, sealed, []byte(venue))
	return string(text), err == nil
}
