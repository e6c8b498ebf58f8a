package config

import (
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
)

// Size is a number of bytes, written with a unit: 512KiB, 1MiB.
type Size int64

type sizeUnit struct {
	name  string
	bytes int64
}

func sizeUnits() []sizeUnit {
	return []sizeUnit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
		{"KB", 1e3}, {"B", 1}}
}

// String returns the size in the largest binary unit that expresses it exactly.
func (s Size) String() string {
	for _, u := range sizeUnits()[:3] {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "B"
}

// UnmarshalText parses a size with its unit.
func (s *Size) UnmarshalText(b []byte) error {
	text := string(b)
	if isBareNumber(text) {
		return fmt.Errorf("%s has no unit; write %sB, or 512KiB, 1MiB", text, text)
	}

	for _, u := range sizeUnits() {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}

		count, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 62)
		if err != nil || int64(count) > (1<<62)/u.bytes {
			break
		}
		*s = Size(int64(count) * u.bytes)
		return nil
	}

	return fmt.Errorf("%s is not a size; for example 512KiB or 1MiB", quote(text))
}

// parseDuration requires a unit, because 30 may be meant as seconds or minutes.
func parseDuration(text string) (time.Duration, error) {
	if isBareNumber(text) { // also "0", which time.ParseDuration accepts
		return 0, fmt.Errorf("%s has no unit; write %ss, %sm or %sh", text, text, text, text)
	}
	duration, err := time.ParseDuration(text)
	if err == nil {
		return duration, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return 0, fmt.Errorf("%s is in days; write hours, %dh", quote(text), n*24)
		}
	}

	return 0, fmt.Errorf("%s is not a duration; for example 4s, 2m or 72h", quote(text))
}

// parsePrefix parses a network or a single address.
func parsePrefix(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s is not a network; for example 192.168.1.0/24 or 10.0.0.7", quote(text))
	}
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("%s is an address, not a network; write %v for the network or %v for "+
			"the address", quote(text), prefix.Masked(), prefix.Addr())
	}

	return prefix, nil
}

// MAC is the hardware address of a network interface, as [net.HardwareAddr] writes it: 00:26:ab:12:34:56.
type MAC string

// UnmarshalText parses the notations of [net.ParseMAC], which labels and routers use.
func (m *MAC) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*m = ""
		return nil
	}

	hw, err := net.ParseMAC(string(b))
	if err != nil || len(hw) != 6 {
		return fmt.Errorf("%s is not a MAC address; write it as 00:26:ab:12:34:56; the printer's self-test page, "+
			"its label and ticketrail printers discover show it", quote(string(b)))
	}

	*m = MAC(hw.String())
	return nil
}

// decodeText is the decoding hook for all text of the file, of the environment and of tags.
var decodeText = mapstructure.ComposeDecodeHookFunc(fromText, mapstructure.TextUnmarshallerHookFunc())

// fromText is the decoding hook for all text of the file and the environment, except for types with
// a strict UnmarshalText of their own.
func fromText(from, to reflect.Value) (any, error) {
	text, ok := from.Interface().(string)
	if !ok {
		return from.Interface(), nil
	}

	switch to.Interface().(type) {
	case bool:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%s is neither true nor false", quote(text))
		}
		return text == "true", nil
	case int:
		// YAML reads 010 as eight, people read it as ten: refuse it.
		number, err := strconv.Atoi(text)
		if err != nil || strconv.Itoa(number) != text {
			return nil, fmt.Errorf("%s is not a whole number in plain digits", quote(text))
		}
		return number, nil
	case time.Duration:
		return parseDuration(text)
	case netip.Prefix:
		return parsePrefix(text)
	}

	if to.Kind() != reflect.Slice {
		return text, nil
	}
	var parts []string // only variables give lists as text
	for part := range strings.SplitSeq(text, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts, nil
}

func isBareNumber(text string) bool {
	return regexp.MustCompile(`^[-+]?[0-9]+([.][0-9]*)?$`).MatchString(text)
}

// quote returns text as messages show it: control characters escaped, at most 80 characters.
func quote(text string) string {
	if r := []rune(text); len(r) > 80 {
		return strconv.Quote(string(r[:80])) + "…"
	}
	return strconv.Quote(text)
}
