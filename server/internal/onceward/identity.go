package onceward

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"unicode"
	"unicode/utf8"
)

// Partitions is how many partitions the records of a store are spread over. It
// is part of the storage layout and never changes within one.
const Partitions = 1024

// ClaimID names a claim. Identity is byte-exact: nothing is trimmed, folded or
// normalised.
type ClaimID struct {
	Namespace string
	Consumer  string // two consumers of one event are independent; may be empty
	Key       string
	Entity    string // only in namespaces that route by entity
}

// RecordID is where a record lives: a partition, and a name within it that no
// other identity of the same kind has.
type RecordID struct {
	Partition int    // 0 to Partitions-1
	Name      string // 20 characters of base64url: 120 bits of a SHA-256
}

// Record gives the place of the claim's record. Kind and fields are hashed with
// length prefixes, so that no separator or brace can merge or split records.
// With an entity the partition is the entity's, so that both are decided
// together.
func (id ClaimID) Record() RecordID {
	if id.Entity == "" {
		return place(hashParts("claim", id.Namespace, id.Consumer, id.Key))
	}
	home := id.EntityOf().Record()
	claim := place(hashParts("ordered claim", id.Namespace, id.Consumer, id.Entity, id.Key))
	return RecordID{Partition: home.Partition, Name: claim.Name}
}

func place(sum [sha256.Size]byte) RecordID {
	return RecordID{
		Partition: int(binary.BigEndian.Uint16(sum[:2])) % Partitions,
		Name:      base64.RawURLEncoding.EncodeToString(sum[2:17]),
	}
}

// DeriveKey makes one key of several parts: the lower-case hex SHA-256 over,
// for each part, its length as 4 bytes big-endian and its bytes. No two lists
// of parts share a key.
func DeriveKey(parts []string) string {
	sum := hashParts(parts...)
	return hex.EncodeToString(sum[:])
}

func hashParts(parts ...string) (sum [sha256.Size]byte) {
	var short [256]byte
	buf := short[:0]
	for _, p := range parts {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(p)))
		buf = append(buf, p...)
	}
	return sha256.Sum256(buf)
}

// check refuses what cannot name a claim.
func (id ClaimID) check(c *checks) {
	c.namespace(id.Namespace)
	c.name("consumer", id.Consumer)
	c.text("key", id.Key)
	if id.Entity != "" {
		c.text("entity", id.Entity)
	}
}

func (c *checks) name(field, s string) {
	if len(s) > MaxNameBytes {
		c.fail(field, "is %d bytes, at most %d are allowed", len(s), MaxNameBytes)
	}
	for i := range len(s) {
		if b := s[i]; !isNameByte(b) {
			c.fail(field, "has a character outside A-Z a-z 0-9 . _ / -")
			return
		}
	}
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' ||
		b == '.' || b == '_' || b == '/' || b == '-'
}

// text is the rule of keys and entities.
func (c *checks) text(field, s string) {
	switch {
	case s == "":
		c.fail(field, "is required: 1 to %d bytes", MaxKeyBytes)
	case len(s) > MaxKeyBytes:
		c.fail(field, "is %d bytes, at most %d are allowed", len(s), MaxKeyBytes)
	case !utf8.ValidString(s):
		c.fail(field, "is not valid UTF-8")
	case onlySpace(s):
		c.fail(field, "is only white space")
	}
}

func onlySpace(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) {
			return false
		}
	}
	return true
}

func (c *checks) maxBytes(field string, got, most int) {
	if got > most {
		c.fail(field, "is %d bytes, at most %d are allowed", got, most)
	}
}

// ResolveKey gives the key that a request names: key itself, or the one derived
// from parts. Exactly one of them must be there.
func ResolveKey(key string, parts []string) (string, error) {
	var c checks
	switch {
	case len(parts) == 0:
		return key, nil
	case key != "":
		c.fail("key_parts", "excludes key: exactly one of the two")
	case len(parts) > MaxKeyParts:
		c.fail("key_parts", "has %d parts, at most %d are allowed", len(parts), MaxKeyParts)
	case allEmpty(parts):
		c.fail("key_parts", "are all empty")
	}
	if err := c.err(); err != nil {
		return "", err
	}
	return DeriveKey(parts), nil
}

func allEmpty(parts []string) bool {
	for _, p := range parts {
		if p != "" {
			return false
		}
	}
	return true
}

// CheckNamespace refuses what cannot be a namespace's name.
func CheckNamespace(name string) error {
	var c checks
	c.namespace(name)
	return c.err()
}

func (c *checks) namespace(name string) {
	if name == "" {
		c.fail("namespace", "is required")
	}
	c.name("namespace", name)
}
