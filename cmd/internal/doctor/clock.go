package doctor

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// WallClock is the clock of the box. A box without a battery boots in 1970, and its clock jumps when
// the network comes up. The queue therefore counts the time that the box was off only if the clock
// was synchronized both before and after.
type WallClock struct{}

// Now is the time of the box, right or wrong. It is shown to people; the queue measures with it
// only while Synchronized says so.
func (WallClock) Now() time.Time { return time.Now() }

// maxClockError is the error at which the kernel takes its clock for unsynchronized. It adds 0.5 ms a second
// until a time server has answered again (adjtimex(2)).
const maxClockError = 16 * time.Second

// Synchronized reports whether the clock is synchronized, by timesyncd, chrony or another program: the kernel knows.
// But a unit with ProtectClock=yes may not even ask it, so there systemd-timedated asks on our behalf. Without an
// answer it is not synchronized: then no ticket expires for time that was not measured.
func (WallClock) Synchronized() bool {
	var t unix.Timex
	if _, err := unix.Adjtimex(&t); err == nil {
		return time.Duration(t.Maxerror)*time.Microsecond < maxClockError
	}
	return timedated.synchronized()
}

// timesyncFile is made by timesyncd after the first answer of a time server; /run is empty after a boot.
const timesyncFile = "/run/systemd/timesync/synchronized"

var timedated = timedateService{file: timesyncFile}

// A timedateService remembers the answer of timedated for a while: the program is started for each
// question, and the queue asks with every write of its clock.
type timedateService struct {
	file string // that counts if the bus does not answer: Debian can run without one

	mu     sync.Mutex // guards the fields below
	answer bool
	asked  time.Time // zero: never
	asking bool
}

const (
	// askEvery is far below the hours after which a clock without a time server is wrong.
	askEvery = time.Minute
	// The queue waits for the first answer, once in the life of the daemon.
	askTimeout = 2 * time.Second
)

// synchronized returns the newest answer. Only the first call waits: the queue must not wait for a
// bus while orders do.
func (s *timedateService) synchronized() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.asked.IsZero():
		s.answer, s.asked = s.ask(), time.Now()
	case time.Since(s.asked) >= askEvery && !s.asking:
		s.asking = true
		go func() {
			answer := s.ask()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.answer, s.asked, s.asking = answer, time.Now(), false
		}()
	}

	return s.answer
}

// ask asks org.freedesktop.timedate1(5) on the system bus.
func (s *timedateService) ask() bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	var answer bool
	bus, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err == nil {
		defer bus.Close()
		err = bus.Object("org.freedesktop.timedate1", "/org/freedesktop/timedate1").CallWithContext(ctx,
			"org.freedesktop.DBus.Properties.Get", 0, "org.freedesktop.timedate1", "NTPSynchronized").Store(&answer)
	}
	if err != nil {
		_, err = os.Stat(s.file)
		return err == nil
	}

	return answer
}
