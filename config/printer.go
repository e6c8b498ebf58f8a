package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/transport"
)

// Printer is a station that prints on paper: one queue of tickets and the printer they come out of.
type Printer struct {
	// Name is the station's name in routes, tables and metrics: letters, digits, spaces and . _ -
	// up to 64. Required, unique in any case over printers, screens and kds. Tickets queued under a
	// name that is removed from the file wait, and do not print, until they are moved.
	Name string `mapstructure:"name"`
	// Address is how the printer is reached. Required.
	//
	//	tcp://192.168.1.50:9100            on the network; 9100 is the default port
	//	usb://04b8:0e28                    on USB, by its ids as lsusb shows them
	//	usb://04b8:0e28?serial=X3BX012345  one of several, by its serial number
	//	usb://                             the only one on USB
	//	serial:///dev/ttyUSB0?baud=19200   on a serial port; also bits, parity, stop, flow
	//	file:///dev/usb/lp0                a device, or a plain file that is appended to
	//
	// A USB printer may get another device number when it is plugged in again; usb:// and the names
	// below /dev/serial/by-id stay valid. Printers with the same address are one device: their
	// queues take turns, and Confirm, Linger, PollEvery and WaitForPerson must be the same.
	Address string `mapstructure:"address"`
	// MAC is the hardware address of a network printer, as its self-test page shows it. If DHCP gives the
	// printer another address, it is looked for in the box's own networks, and nothing is sent to another
	// device that has its address now. It needs a printer that no router separates from the box, and no
	// Wi-Fi repeater that hides it behind its own MAC address. Default none: only Address counts.
	MAC MAC `mapstructure:"mac"`
	// Profile is the model. Default generic-80mm; ticketrail printers profiles lists them.
	Profile string `mapstructure:"profile" default:"generic-80mm"`
	// Override changes single keys of the profile, for a printer that differs a little from a known
	// model: { cutter: none, buzzer: esc_b }. ticketrail printers profiles NAME shows the keys and
	// their values. Default none.
	Override Override `mapstructure:"override"`
	// Columns is how many characters fit on a line, 16 to 96. Default 0: the profile's value.
	Columns int `mapstructure:"columns"`
	// Confirm is how the printer is asked whether a ticket came out. auto tries which questions the
	// printer answers, and remembers them. process_id and status use these without trying first. none asks
	// nothing, not even for paper: its tickets count as sent. Default: the profile's value.
	Confirm            string `mapstructure:"confirm"`
	printer.Connection `mapstructure:",squash"`
	// Copies is how many of each ticket print, each marked COPY 2/2. Default 1, 1 to 9.
	Copies int `mapstructure:"copies" default:"1" range:"1 9"`
	// Buzzer is how often tickets sound the buzzer, if the profile has one.
	Buzzer Buzzer `mapstructure:"buzzer"`
	// QR prints the request's id as a QR code in the footer. Default false.
	QR bool `mapstructure:"qr"`
	// Layout is how tickets look.
	Layout Layout `mapstructure:"layout"`
	// ExpireAfter is how old a ticket may be and still print; older ones expire, and a slip lists
	// them. Default 4h, 1m to 720h.
	ExpireAfter time.Duration `mapstructure:"expire_after" default:"4h" range:"1m 720h"`
	// OnDoubt says how a ticket that may have been printed already is handled. Default reprint: it
	// prints once more, marked POSSIBLE DUPLICATE, and is held after that. hold: it is held at
	// once, for a person to decide.
	OnDoubt string `mapstructure:"on_doubt" default:"reprint" oneof:"reprint hold"`
	// Backup is the station that takes over after HoldFor: the tickets come out there in order,
	// headed FOR GRILL (printer down). They stay in this queue, and come out here again when this
	// printer works. A backup may have a backup of its own and may be a screen. A queue that a
	// person holds waits for that person. Default none.
	Backup string `mapstructure:"backup"`
	// HoldFor is how long the first ticket of the queue must have failed until the backup takes
	// over. Default 2m, 10s to 24h.
	HoldFor time.Duration `mapstructure:"hold_for" default:"2m" range:"10s 24h"`
}

// Override is keys of a profile with their values: words, numbers, true and false, lists and nested
// keys. Package profile judges them.
type Override map[string]any

// Buzzer is how often the buzzer sounds before a ticket, so that a cancellation can be told from an
// order by ear.
type Buzzer struct {
	// Times is for a ticket with something to make. Default 1, 0 (silent) to 9.
	Times int `mapstructure:"times" default:"1" range:"0 9"`
	// VoidTimes is for a ticket that only cancels. Default 3, 0 (silent) to 9.
	VoidTimes int `mapstructure:"void_times" default:"3" range:"0 9"`
}

// Layout is how tickets look.
type Layout struct {
	layout.Options `mapstructure:",squash"`
	// AlsoAt prints which other stations got lines of the order, at the foot: ALSO AT: bar, pastry.
	// Default true.
	AlsoAt bool `mapstructure:"also_at" default:"true"`
}

func (l *Layout) longDefaults() { l.Header = layout.HeaderFields() }

// Model is the profile of the printer, with its overrides. Confirm comes last: it is the operator's word about this
// one printer, whatever its model can do.
func (p Printer) Model() (profile.Profile, error) {
	model, ok := profile.Lookup(p.Profile)
	if !ok {
		return model, profile.Unknown(p.Profile)
	}

	model, err := model.Override(p.Override)
	if err != nil {
		return model, fmt.Errorf("override: %w", err)
	}
	model.Confirm = cmp.Or(profile.Confirm(p.Confirm), model.Confirm)
	return model, nil
}

// Networked reports whether the printer is on the network.
func (p Printer) Networked() bool {
	return strings.HasPrefix(transport.CanonicalAddress(p.Address), "tcp://")
}

// DefaultPrinter is a printer of which only the name and the address are set.
func DefaultPrinter() Printer { return Defaults[Printer]() }
