package client

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf8"
)

// maxKeyParts is the service's limit on key_parts.
const maxKeyParts = 16

// DeriveKey computes the key that the service derives from KeyParts, for
// programs that need it before or without a call: the lower-case hex SHA-256
// over, for each part, its length in bytes as 4 bytes big-endian followed by its
// bytes. The parts cannot run into each other: "a", "b:c" and "a:b", "c" give
// different keys.
//
// Where the service would refuse the parts (none, more than 16, all of them
// empty, or not UTF-8) DeriveKey returns the empty string, which is not a key:
// the service answers INVALID_ARGUMENT to it.
func DeriveKey(parts ...string) string {
	if !validParts(parts) {
		return ""
	}
	hash := sha256.New()
	for _, part := range parts {
		var length [4]byte
		binary.BigEndian.PutUint32(length[:], uint32(len(part)))
		hash.Write(length[:])
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func validParts(parts []string) bool {
	if len(parts) > maxKeyParts {
		return false
	}
	empty := true
	for _, part := range parts {
		empty = empty && part == ""
		if !utf8.ValidString(part) {
			return false
		}
	}
	return !empty
}
