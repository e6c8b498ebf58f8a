package relay

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/time/rate"

	"ticketrail/receiver"
	"ticketrail/receiver/source"
)

// Refused bodies share the stream with orders. A sender whose every request is refused must neither fill it nor
// slow it, and those that wait for the stream must not fill the memory.
const (
	keepRate  = rate.Limit(keepWork * 10) // bytes a second
	keepBurst = keepWork * 100
	keepWork  = 160 << 10 // bytes for which a body counts in addition, because it is work
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
	log := s.log.With("venue", one.Venue, "code", one.Code)
	if !s.keep.AllowN(time.Now(), keepWork+len(one.Body)) {
		log.Warn("refused body was not passed on to the box: too many are refused at once")
		return
	}

	go func() {
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
	id := Hash(one.Code + "\x00" + one.Device + "\x00" + string(one.Body))
	if most := int(s.nc.MaxPayload()-headroom) / 4 * 3; len(one.Body) > most { // base64 in JSON
		one.Body, one.Truncated = one.Body[:most], true
	}
	data, err := json.Marshal(one)
	return &nats.Msg{Subject: subjects + "." + one.Venue + "." + refused + "." + id,
		Header: nats.Header{source.HeaderRefused: {"true"}}, Data: data}, err
}
