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

// A Pusher gives the servers accounts. It may change every one of them, so its credentials are made for the moment and
// are in no file.
type Pusher struct {
	There []string // the names of the servers that there are
	nc    *nats.Conn
}

// NewPusher connects to the servers. It is to be closed.
func (o *Operator) NewPusher(ctx context.Context, urls []string) (*Pusher, error) {
	all, _, err := o.credentials(system, "ticketrail relay venues", func(*jwt.UserClaims) {})
	if err != nil {
		return nil, err
	}
	c, err := parseCredentials(all)
	if err != nil {
		return nil, err
	}
	nc, err := nats.Connect(strings.Join(urls, ","),
		append(options(func() (*Credentials, error) { return c, nil }), nats.Name(c.Name))...)
	if err != nil {
		return nil, fmt.Errorf("connect to the servers: %w", err)
	}
	found, err := ask(ctx, nc, "$SYS.REQ.SERVER.PING", nil, len(urls), false)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("ask which servers there are: %w", err)
	}
	return &Pusher{There: slices.Sorted(maps.Keys(found)), nc: nc}, nil
}

// Close ends the connection.
func (p *Pusher) Close() { p.nc.Close() }

// Push gives the servers an account, as [Operator.VenueAccount] makes it, and returns the names of those that have
// stored it. A server that is away now gets it from the others when it is back. The error says that no server has it.
func (p *Pusher) Push(ctx context.Context, account string) (stored []string, err error) {
	answers, err := ask(ctx, p.nc, "$SYS.REQ.CLAIMS.UPDATE", []byte(account), len(p.There), true)
	for name, refused := range answers {
		if refused == nil {
			stored = append(stored, name)
		}
		err = errors.Join(err, refused)
	}
	if len(stored) == 0 {
		return nil, fmt.Errorf("change an account: %w", err)
	}
	return slices.Sorted(slices.Values(stored)), nil
}

// Push is [Pusher.Push] for one account. It returns which servers there are, too.
func (o *Operator) Push(ctx context.Context, urls []string, account string) (stored, there []string, err error) {
	p, err := o.NewPusher(ctx, urls)
	if err != nil {
		return nil, nil, err
	}
	defer p.Close()
	stored, err = p.Push(ctx, account)
	return stored, p.There, err
}

const (
	answerWithin = 3 * time.Second
	// More servers may answer than there are addresses of them: so long is waited for them.
	moreWithin = 500 * time.Millisecond
)

// ask sends a request that every server answers, and returns the answers by the server's name: an error, or nil. known
// is how many servers are expected, and exact that there are no more.
func ask(ctx context.Context, nc *nats.Conn, subject string, data []byte, known int, exact bool,
) (map[string]error, error) {
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
	for !exact || len(answers) < known {
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
		if len(answers) >= known {
			within = moreWithin
		}
	}
	return answers, nil
}
