package relay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ticketrail/queue/ticket"
	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

const (
	// storeTime is for all attempts to store a request. Without a leader it is answered 503 in time for the service to
	// try another relay, or the same one when there is a new leader: a request that was stored already is a duplicate
	// then.
	storeTime = 900 * time.Millisecond
	// storeTimeOfMiB is in addition, for each MiB of a large body.
	storeTimeOfMiB = time.Second
	// retryWait is the pause before the next one.
	retryWait = 50 * time.Millisecond
)

// Error codes of the server, from its errors.json. jetstream has no names for them.
const (
	codeAccountResources = 10002
	codeNoPeers          = 10005
	codeUnavailable      = 10008
	codeServerResources  = 10023
	codeStorageFull      = 10047
	codeStoreFailed      = 10077
)

var (
	errFull     = errors.New("the stream is full: raise nats.max_bytes of the relay, or give the servers more disk")
	errNoAnswer = errors.New("too few servers answer: more than half of the NATS servers must run, with JetStream " +
		"on. On each, curl http://127.0.0.1:8222/healthz says how it is; after a full disk, make room and restart " +
		"nats-server")
)

// isNoAnswer reports whether err looks like a missing quorum. Without JetStream on most servers, a question gets no
// answer or an error without a reason, and a publish finds no stream. A message that is refused as known, but is not
// stored, waits for a quorum.
func isNoAnswer(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == codeUnavailable || api.ErrorCode == codeStoreFailed
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// explain adds the remedy to an error of the servers.
func explain(err error) error {
	if isFull(err) {
		return fmt.Errorf("%w: nats.max_bytes is more than the servers have room for, which is three quarters of a "+
			"free disk: lower it, or give them more", err)
	}
	if isNoAnswer(err) {
		return fmt.Errorf("%w: %w", err, errNoAnswer)
	}
	return err
}

// Accept stores a request. It returns nil only when a quorum of the servers has the request on disk: only then may
// the caller answer 200. It is a [receiver.Intake].
//
// After an error the outcome is unknown, and sending the same request again is safe: the subject decides. Of another
// body under a known id both are stored, and the box decides whether the second one says anything else.
func (s *Stream) Accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	receipt, err := s.accept(ctx, r)
	if err == nil {
		return receipt, nil
	}

	ring(s.failed)
	s.outage.Do(func() { // the caller is only told a code
		s.log.Error("requests cannot be stored, and are answered 503", "code", Classify(err), "err", err)
	})
	return ticket.Receipt{}, fmt.Errorf("store request %.64q: %w", r.ID, err)
}

// outageEvery is how often the log says at most that requests cannot be stored.
const outageEvery = time.Minute

// Failed has a value after a request that could not be stored: it is time to look whether the stream takes any.
func (s *Stream) Failed() <-chan struct{} { return s.failed }

func (s *Stream) accept(ctx context.Context, r ticket.Request) (ticket.Receipt, error) {
	digest := hex.EncodeToString(r.Content[:])
	msg := &nats.Msg{Subject: subjectOf(r.Venue, r.ID), Data: r.Body, Header: nats.Header{
		headerDigest:          {digest},
		source.HeaderID:       {strconv.QuoteToASCII(r.ID)},
		source.HeaderDevice:   {strconv.QuoteToASCII(r.Device)},
		source.HeaderReceived: {r.Received.UTC().Format(time.RFC3339Nano)},
	}}

	known, err := s.store(ctx, msg)
	switch {
	case err != nil:
		return ticket.Receipt{}, err
	case known == nil:
		return ticket.Receipt{}, nil
	case known.Get(headerDigest) == digest:
		return ticket.Receipt{Duplicate: true}, nil
	}

	msg.Subject += "." + digest
	if known, err = s.store(ctx, msg); err != nil {
		return ticket.Receipt{}, err
	}
	return ticket.Receipt{Duplicate: true, Conflict: known == nil}, nil
}

// store publishes m until it is known to be stored, ctx ends or storeTime is over. known are the headers of the message
// that was there before; nil: it is m.
//
// A crash of the relay or of the leader before the acknowledgement leaves m stored or not; the service had no
// answer, its retry finds out. A crash after it loses nothing: a quorum has synced it.
func (s *Stream) store(ctx context.Context, m *nats.Msg) (known nats.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime+storeTimeOfMiB*time.Duration(len(m.Data))>>20)
	defer cancel()

	why := errNoAnswer
	for {
		known, err := s.attempt(ctx, m)
		if err == nil || errors.Is(err, errFull) {
			return known, err
		}
		if !isNoAnswer(err) {
			why = err
		}

		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), why)
		case <-time.After(retryWait):
		}
	}
}

// attempt publishes m once. That the server refuses a subject as known is not believed before the stored message was
// read: it also refuses while the first one is in flight, and that one is lost if its leader dies. The message is read
// from the leader, which has only messages that a quorum has.
func (s *Stream) attempt(ctx context.Context, m *nats.Msg) (known nats.Header, err error) {
	_, err = s.js.PublishMsg(ctx, m)
	if _, refused := errors.AsType[*jetstream.APIError](err); !refused {
		return nil, err
	}

	stored, readErr := s.stream.GetLastMsgForSubject(ctx, m.Subject)
	switch {
	case readErr == nil:
		return stored.Header, nil
	case !errors.Is(readErr, jetstream.ErrMsgNotFound):
		return nil, readErr
	case isFull(err):
		return nil, fmt.Errorf("%w (%w)", errFull, err)
	}
	return nil, err
}

// isFull reports whether the servers have no room for a request, or for the stream.
func isFull(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode {
	case codeAccountResources, codeNoPeers, codeServerResources, codeStorageFull:
		return true
	case codeStoreFailed: // the only code whose text says more
		return strings.Contains(api.Description, "maximum bytes")
	}
	return false
}

// Classify returns the code of an error of [Stream.Accept]. It is a receiver.Options.Classify.
func Classify(err error) receiver.Code {
	switch {
	case errors.Is(err, errFull):
		return receiver.StorageFull
	case errors.Is(err, context.DeadlineExceeded):
		return receiver.TooSlow
	}
	return receiver.StorageFailed
}
