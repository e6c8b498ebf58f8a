package daemon

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"ticketrail/cmd/internal/httpserver"
	"ticketrail/config"
	"ticketrail/receiver"
	"ticketrail/receiver/contract"
)

// Policy makes the part of the receiver that a reload replaces. One policy serves a whole
// request, so a request never sees half of a reload.
func Policy(conf *config.Config, p receiver.Planner) *receiver.Policy {
	section := conf.Receiver
	out := &receiver.Policy{
		Path:        section.Path,
		VenueHeader: section.Headers.Venue, DeviceHeader: section.Headers.Device,
		AllowFrom: section.AllowFrom, TrustedProxies: section.TrustedProxies,
		Plan: p, MaxBody: int64(section.MaxBody), Mode: section.Mode(), RespondWithin: section.RespondWithin,
		OnlyReportConflict: section.Conflict == "report",
	}

	out.Secrets = revealed(section.Secrets)
	for _, v := range conf.Venues {
		out.Venues = append(out.Venues,
			receiver.Venue{Venue: v.Plan(), Devices: v.Devices, Secrets: revealed(v.Secrets)})
	}
	return out
}

// revealed are several, so that a secret can be changed without a gap: the old one and the new one are valid
// until the service uses the new one.
func revealed(secrets []config.Secret) (out []string) {
	for _, s := range secrets {
		out = append(out, s.Reveal())
	}
	return out
}

// Webhook is how the server of the webhook stops and which certificate it has. files are the files of the
// certificate. acme, if it is not nil, gets them and must run.
func Webhook(t config.TLS, files httpserver.Files, log *slog.Logger, reg prometheus.Registerer) (
	o httpserver.Options, acme *httpserver.ACME, err error,
) {
	// After this time the service has given up waiting. Requests that are cut off at a stop are sent
	// again and deduplicated.
	o.Grace = contract.WebhookTimeout + time.Second
	loaded := certMetrics(reg)
	files.ClientCA = t.ClientCAFile
	if t.ACME.Name != "" {
		acme, err = httpserver.NewACME(httpserver.ACMEOptions{Name: t.ACME.Name, Directory: t.ACME.Directory,
			Files: files, CA: t.ACME.CAFile, Log: log, Loaded: loaded})
		if err != nil {
			return o, nil, fmt.Errorf("receiver.tls.acme: %w", err)
		}
		o.Cert = acme.Certificates
	} else if t.Enabled() {
		// A certificate that cannot be read at the start is an error, because without it no order
		// arrives. Later the last good one stays active.
		if o.Cert, err = httpserver.NewCertReloader(files, log, loaded); err != nil {
			return o, nil, fmt.Errorf("receiver.tls: %w", err)
		}
	}
	return o, acme, nil
}

// certMetrics exports the state of the webhook's certificate. An expired certificate stops every
// order at once, so the end date is exported for an alert weeks before.
func certMetrics(reg prometheus.Registerer) (loaded func(notAfter time.Time, err error)) {
	factory := promauto.With(reg)
	ends := factory.NewGauge(prometheus.GaugeOpts{
		Name: "ticketrail_receiver_certificate_not_after_timestamp_seconds",
		Help: "When the active TLS certificate expires; 0 without TLS.",
	})

	good := factory.NewGauge(prometheus.GaugeOpts{
		Name: "ticketrail_receiver_tls_last_load_successful",
		Help: "Whether the last load of the TLS files succeeded (1) or failed (0); 1 without TLS. With ACME, 0 " +
			"before the first certificate.",
	})

	good.Set(1)
	return func(notAfter time.Time, err error) {
		if err != nil {
			good.Set(0)
			return
		}
		good.Set(1)
		ends.Set(float64(notAfter.Unix()))
	}
}
