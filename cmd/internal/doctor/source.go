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
		return []finding.Finding{finding.New("relay/no_token", finding.Fail, "no order can be fetched",
			layout.Clean(err.Error()), "put the file there that ticketrail relay venues add has made for the venue")}
	}

	ctx, cancel := context.WithTimeout(ctx, askRelay)
	defer cancel()
	waiting, err := source.Waiting(ctx, source.Options{URL: relay.URL, Venue: relay.Venue, Token: relay.Token,
		Transport: source.Transport()})
	switch {
	case errors.Is(err, source.ErrToken):
		return []finding.Finding{finding.New("relay/token_refused", finding.Fail, "no order can be fetched",
			layout.Clean(err.Error()),
			"make a new token on the relay with ticketrail relay venues renew, and put it into "+relay.TokenFile)}
	case err != nil:
		return []finding.Finding{finding.New("relay/unreachable", finding.Fail, "it does not answer",
			layout.Clean(err.Error()), "the box needs no way in, but must reach that address: "+
				"look at the internet connection, the firewall, the proxy and the name")}
	}

	return []finding.Finding{finding.Fine("relay",
		fmt.Sprintf("%s answers; orders of this box that wait there: %d", relay.URL, waiting))}
}
