package config

import (
	"fmt"
	"slices"
	"time"

	"ticketrail/printer/ticketlog"
)

// TicketLog is a station that writes its tickets to a file or to standard output, each as a line of JSON.
type TicketLog struct {
	ticketlog.Options `mapstructure:",squash"`
	// Backup is the station that takes over after HoldFor, as for a printer. Default none: the tickets
	// wait.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the first ticket of the queue must have failed until the backup takes
	// over. Default 2m, 10s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for" default:"2m" range:"10s 24h"`
	// ExpireAfter is how old a ticket may be and still be written; older ones expire, and one line
	// lists them. Default 720h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after" default:"720h" range:"1m 720h"`
}

// LogNames are the names of the logs. No cook is there: their tickets are no part of an order.
func (c *Config) LogNames() (names []string) {
	for _, l := range c.Logs {
		names = append(names, l.Name)
	}
	return names
}

func (c *Config) hasCook(station string) bool { return !slices.Contains(c.LogNames(), station) }

func (k *checker) logs() {
	for i, l := range k.c.Logs {
		_, err := ticketlog.New(l.Options)
		k.judgedKey(fmt.Sprintf("logs[%d]", i), err)
	}
}
