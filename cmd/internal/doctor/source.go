package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/receiver/source"
)

// askRelay is for the question to the relay.
const askRelay = 5 * time.Second

// sourceFindings ask the relay, with the token of this box, how many orders wait for it. None is taken.
func sourceFindings(ctx context.Context, conf *config.Config) []finding.Finding {
	relay := conf.Source
	if !relay.Enabled() {
		return nil
	}
	if _, err := relay.Token(); err != nil {
		return []finding.Finding{RelayFinding(relay, err)}
	}

	ctx, cancel := context.WithTimeout(ctx, askRelay)
	defer cancel()
	waiting, err := source.Waiting(ctx, source.Options{URL: relay.URL, Venue: relay.Venue, Token: relay.Token,
		Transport: source.Transport()})
	if err != nil {
		return []finding.Finding{RelayFinding(relay, err)}
	}

	return []finding.Finding{finding.Fine("relay",
		fmt.Sprintf("%s answers; orders of this box that wait there: %d", relay.URL, waiting))}
}

// RelayFinding is why no order can be fetched from a relay.
func RelayFinding(relay config.Source, err error) finding.Finding {
	detail := layout.Clean(err.Error())
	if errors.Is(err, source.ErrToken) {
		return finding.New("relay/token_refused", finding.Fail, noOrder, detail,
			"make a new token on the relay with ticketrail relay venues renew, and put it into "+relay.TokenFile)
	}
	if _, err := relay.Token(); err != nil {
		return noToken(detail)
	}
	return finding.New("relay/unreachable", finding.Fail, noOrder, detail, "the relay keeps the orders; the box needs "+
		"no way in, but must reach that address: look at the internet connection, the firewall, the proxy, the name "+
		"and the certificate")
}

const noOrder = "no order can be fetched"

func noToken(why string) finding.Finding {
	return finding.New("relay/no_token", finding.Fail, noOrder, why, "put the file there that ticketrail relay venues "+
		"add has made for the venue, mode 0600; the daemon reads it by itself")
}
