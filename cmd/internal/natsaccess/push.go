package natsaccess

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// Push gives the servers an account, as [Operator.VenueAccount] makes it, and returns the names of those that have
// stored it, and of those that there are. A server that is away now gets it from the others when it is back. The error
// says that no server has it.
//
// Who connects for this may change every account, so its credentials are made for the moment and are in no file.
func (o *Operator) Push(ctx context.Context, urls []string, account string) (stored, there []string, err error) {
	all, _, err := o.credentials(system, "ticketrail relay venues", func(*jwt.UserClaims) {})
	if err != nil {
		return nil, nil, err
	}
	c, err := parseCredentials(all)
	if err != nil {
		return nil, nil, err
	}
	nc, err := nats.Connect(strings.Join(urls, ","),
		append(options(func() (*Credentials, error) { return c, nil }), nats.Name(c.Name))...)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the servers: %w", err)
	}
	defer nc.Close()
	found, err := ask(ctx, nc, "$SYS.REQ.SERVER.PING", nil, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("ask which servers there are: %w", err)
	}
	answers, err := ask(ctx, nc, "$SYS.REQ.CLAIMS.UPDATE", []byte(account), len(found))
	for name, refused := range answers {
		if refused == nil {
			stored = append(stored, name)
		}
		err = errors.Join(err, refused)
	}
	if len(stored) == 0 {
		return nil, nil, fmt.Errorf("change an account: %w", err)
	}
	return slices.Sorted(slices.Values(stored)), slices.Sorted(maps.Keys(found)), nil
}

const (
	answerWithin = 3 * time.Second
	// After the first answer the others come within milliseconds; so long is waited for more if it is not known how
	// many there are.
	moreWithin = 500 * time.Millisecond
)

// ask sends a request that every server answers, and returns the answers by the server's name: an error, or nil. most
// is how many there are; 0: that is not known.
func ask(ctx context.Context, nc *nats.Conn, subject string, data []byte, most int) (map[string]error, error) {
	inbox := nc.NewRespInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(subject, inbox, data); err != nil {
		return nil, err
	}
	answers, within := map[string]error{}, answerWithin
	for most == 0 || len(answers) < most {
		ctx, cancel := context.WithTimeout(ctx, within)
		m, err := sub.NextMsgWithContext(ctx)
		cancel()
		if err != nil && len(answers) > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		var a struct {
			Server struct{ Name string }
			Error  *struct{ Description string }
		}
		if err := json.Unmarshal(m.Data, &a); err != nil {
			return nil, fmt.Errorf("the answer cannot be read: %w", err)
		}
		answers[a.Server.Name] = nil
		if a.Error != nil {
			answers[a.Server.Name] = fmt.Errorf("%s: %s", a.Server.Name, cmp.Or(a.Error.Description, "refused"))
		}
		if most == 0 {
			within = moreWithin
		}
	}
	return answers, nil
}
