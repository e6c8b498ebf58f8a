package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

// Refused bodies share the stream with orders. A sender whose every request is refused must neither fill it nor
// slow it.
const (
	keepRate  = rate.Limit(10) // a second
	keepBurst = 100
	// keepBytes bounds the memory of bodies that wait for the stream.
	keepBytes = 16 << 20
	keepTime  = 10 * time.Second
)

// Keep passes a body that was refused on to the box of its venue, where a person finds it and can print it. It is
// called after the answer and never blocks. Losing one here is acceptable, because the point of sale has shown that
// the order was refused. A request that cannot be passed on is logged.
//
// A conflict is passed on as a request, so the box keeps it itself. Of a caller that was turned away there is no
// body.
func (s *Stream) Keep(one receiver.Reject) {
	if one.Body == nil || !slices.Contains(receiver.Codes(), receiver.Code(one.Code)) {
		return
	}
	size := int64(len(one.Body))
	log := s.log.With("venue", one.Venue, "code", one.Code)
	if !s.refusedLimit.Allow() || !s.refusedBytes.TryAcquire(size) {
		log.Warn("refused body was not passed on to the box: too many are refused at once")
		return
	}

	go func() {
		defer s.refusedBytes.Release(size)
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		msg, err := s.refusedMessage(one)
		if err == nil {
			_, err = s.store(ctx, msg)
		}
		if err != nil {
			log.Warn("refused body was not passed on to the box", "err", err)
		}
	}()
}

// refusedMessage is the message of a refused body. The same body, sent again, has the same subject, so it is stored
// once.
func (s *Stream) refusedMessage(one receiver.Reject) (*nats.Msg, error) {
	hash := sha256.New()
	hash.Write([]byte(one.Code + "\x00" + one.Device + "\x00"))
	hash.Write(one.Body)
	if most := int(s.nc.MaxPayload()-headroom) / 4 * 3; len(one.Body) > most { // base64 in JSON
		one.Body, one.Truncated = one.Body[:most], true
	}
	data, err := json.Marshal(one)
	return &nats.Msg{Subject: subjects + "." + one.Venue + "." + refused + "." + hex.EncodeToString(hash.Sum(nil)),
		Header: nats.Header{source.HeaderRefused: {"true"}}, Data: data}, err
}
