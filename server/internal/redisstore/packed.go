package redisstore

import (
	"encoding/binary"
	"time"

	"github.com/onceward/onceward/server/internal/onceward"
)

// packer builds what a script takes apart with struct.unpack: big-endian numbers,
// and texts with their length before them.
type packer struct{ bytes []byte }

func newPacker() packer { return packer{make([]byte, 0, 256)} } // most calls fit

func (p *packer) byte(n int)     { p.bytes = append(p.bytes, byte(n)) }
func (p *packer) uint32(n int)   { p.bytes = binary.BigEndian.AppendUint32(p.bytes, uint32(n)) }
func (p *packer) token(n int64)  { p.low(7, uint64(n)) }
func (p *packer) text8(s string) { p.byte(len(s)); p.bytes = append(p.bytes, s...) }

func (p *packer) millis(d time.Duration) { p.low(6, uint64(onceward.Millis(d))) }

func (p *packer) text16(s string) {
	p.bytes = binary.BigEndian.AppendUint16(p.bytes, uint16(len(s)))
	p.bytes = append(p.bytes, s...)
}

func (p *packer) text32(s string) {
	p.uint32(len(s))
	p.bytes = append(p.bytes, s...)
}

func (p *packer) bool(b bool) {
	if b {
		p.byte(1)
	} else {
		p.byte(0)
	}
}

// low appends the low bytes of a number.
func (p *packer) low(bytes int, n uint64) {
	for i := bytes - 1; i >= 0; i-- {
		p.byte(int(n >> (8 * i) & 255))
	}
}

// reader takes big-endian fields off a record or a reply; short once there was
// not enough.
type reader struct {
	left  string
	short bool
}

func (r *reader) take(n int) string {
	if n > len(r.left) {
		r.short, r.left = true, ""
		return ""
	}
	out := r.left[:n]
	r.left = r.left[n:]
	return out
}

func (r *reader) uint(bytes int) (n uint64) {
	for _, b := range []byte(r.take(bytes)) {
		n = n<<8 | uint64(b)
	}
	return n
}

// text has its length before it.
func (r *reader) text(lengthBytes int) string { return r.take(int(r.uint(lengthBytes))) }
