package doctor

import (
	"context"
	"io"
	"log"
	"net/netip"
	"strings"
	"time"

	"github.com/hashicorp/mdns"

	"ticketrail/printer/layout"
)

const (
	browseFor     = 2 * time.Second
	maxAnnounced  = 256 // more come only from a hostile host
	maxNameLength = 60
)

// browse asks by multicast DNS for printers, and returns what they call themselves, cleaned, by address. It names
// only what is found in another way too: an announcement may be false, and a printer's raw port is 9100. A network
// without multicast has no names.
func browse(ctx context.Context) map[netip.Addr]string {
	entries := make(chan *mdns.ServiceEntry, maxAnnounced)
	for _, service := range []string{"_pdl-datastream._tcp", "_printer._tcp", "_ipp._tcp"} {
		// One after the other: each opens port 5353.
		_ = mdns.QueryContext(ctx, &mdns.QueryParam{
			Service: service, Domain: "local", Timeout: browseFor / 3, Entries: entries,
			DisableIPv6: true, Logger: log.New(io.Discard, "", 0),
		})
	}
	out := map[netip.Addr]string{}
	for {
		select {
		case e := <-entries:
			addr, ok := netip.AddrFromSlice(e.AddrV4)
			name := announcedName(e)
			if ok && name != "" && out[addr.Unmap()] == "" {
				out[addr.Unmap()] = name
			}
		default:
			return out
		}
	}
}

// announcedName is the model that a printer announces (ty, in Apple's Bonjour Printing Specification), or else the
// name that it got from its owner.
func announcedName(e *mdns.ServiceEntry) string {
	name, _, _ := strings.Cut(e.Name, "._")
	name = strings.ReplaceAll(name, `\`, "")
	for _, field := range e.InfoFields {
		if ty, ok := strings.CutPrefix(field, "ty="); ok {
			name = ty
		}
	}
	name = strings.TrimSpace(layout.Clean(name))
	if r := []rune(name); len(r) > maxNameLength {
		name = string(r[:maxNameLength])
	}
	return name
}
