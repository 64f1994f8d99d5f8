package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Sealing is the answer to key.agree.
type Sealing struct {
	KeyID     string `json:"keyId"`
	PublicKey []byte `json:"publicKey"`
	Proof     []byte `json:"proof"`
}

// Asks with the passwords of the request in boxes, if it has any. The device accepts them only in boxes.
func (device *Device) askSealed(kind string, body, answer any) error {
	fields, isObject := body.(object)
	if isObject {
		var sealing *Sealing
		err := seal(kind, fields, func(place string, network object) error {
			if sealing == nil {
				sealing = new(Sealing)
				if err := device.agree(sealing); err != nil {
					return err
				}
			}
			ephemeral, err := ecdh.X25519().GenerateKey(rand.Reader)
			if err != nil {
				return err
			}
			return device.pairing.seal(place, network, fields, sealing, ephemeral)
		})
		if err != nil {
			return err
		}
	}
	return device.ask(kind, body, answer)
}

func (device *Device) agree(sealing *Sealing) error {
	nonce := make([]byte, 32)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	err := device.ask("key.agree", object{"key": device.pairing.Name, "nonce": nonce}, sealing)
	if err == nil && !hmac.Equal(sealing.Proof, device.pairing.agreementProof(sealing.PublicKey, nonce)) {
		err = &Fault{"notTheDevice", "the key to seal with is not the device's"}
	}
	return err
}

// Calls box for each network with a password in a request.
func seal(kind string, body object, box func(place string, network object) error) error {
	places := []string{kind}
	networks := []any{body}
	if kind != "network.switch" {
		list, _ := body["networks"].([]any)
		networks = append(append([]any{}, list...), body["home"])
		places = strings.Split(strings.Repeat("backups.update,", len(list))+"backups.update home", ",")
	}
	for i, network := range networks {
		network, _ := network.(object)
		if _, ok := network["password"].(string); ok {
			if err := box(places[i], network); err != nil {
				return err
			}
		}
	}
	return nil
}

// Replaces the password of a network by a box, which is valid only for this place in this request.
func (pairing *Pairing) seal(place string, network, body object, sealing *Sealing, ephemeral *ecdh.PrivateKey) error {
	text := []byte(sealContext(place, pairing.ID, network, body))
	password, _ := network["password"].(string)
	if len(password) > 64 {
		return &Fault{"invalidPassword", "a password has 64 bytes at most"}
	}
	padded := append([]byte(password), make([]byte, 64-len(password))...)
	box, err := hpke(sealing.PublicKey, ephemeral, []byte("altnet/1 seal"), text, padded)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	proof := mac(pairing.Key, []byte("altnet/1 box"), digest[:], box)
	sealed := object{"keyId": sealing.KeyID, "box": encode(box), "proof": encode(proof)}
	if pairing.Name != "owner" {
		sealed["key"] = pairing.Name
	}
	delete(network, "password")
	network["sealed"] = sealed
	return nil
}

// Returns the text that states the purpose of a box.
func sealContext(place, deviceID string, network, body object) string {
	text := func(value any) string {
		switch value := value.(type) {
		case nil:
			return ""
		case bool:
			return map[bool]string{false: "0", true: "1"}[value]
		default:
			return fmt.Sprint(value)
		}
	}
	ssid := strings.ToLower(text(network["ssidHex"]))
	if ssid == "" {
		ssid = hex.EncodeToString([]byte(text(network["ssid"])))
	}
	address := ""
	if own, ok := network["address"].(object); ok {
		servers := strings.Trim(strings.ReplaceAll(text(own["nameServers"]), " ", ","), "[]")
		address = text(own["address"]) + " " + text(own["gateway"]) + " " + servers
	}
	revision, options := body["ifRevision"], object{}
	if place == "network.switch" {
		revision, options = nil, body
	}
	flag := func(value any) string { return text(value == true) }
	return strings.Join([]string{
		"altnet/1 " + place, "device=" + deviceID, "ssid=" + ssid, "credential=password",
		"security=" + text(network["security"]), "hidden=" + flag(network["hidden"]), "address=" + address,
		"revision=" + text(revision), "confirmWithin=" + text(options["confirmWithin"]),
		"joinOnce=" + flag(options["joinOnce"]), "besideUplink=" + flag(options["besideUplink"]),
	}, "\n")
}

// HPKE (RFC 9180) in base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
func hpke(recipient []byte, ephemeral *ecdh.PrivateKey, info, aad, plaintext []byte) ([]byte, error) {
	kem, suite := "KEM\x00\x20", "HPKE\x00\x20\x00\x01\x00\x01"
	extract := func(salt []byte, suite, label string, input []byte) []byte {
		return mac(salt, []byte("HPKE-v1"+suite+label), input)
	}
	expand := func(key []byte, suite, label string, info []byte, length byte) []byte {
		return mac(key, []byte{0, length}, []byte("HPKE-v1"+suite+label), info, []byte{1})[:length]
	}
	publicKey, err := ecdh.X25519().NewPublicKey(recipient)
	if err != nil {
		return nil, err
	}
	agreed, err := ephemeral.ECDH(publicKey)
	if err != nil {
		return nil, err
	}
	encapsulated := ephemeral.PublicKey().Bytes()
	both := append(append([]byte{}, encapsulated...), recipient...)
	shared := expand(extract(nil, kem, "eae_prk", agreed), kem, "shared_secret", both, 32)
	hashes := append(extract(nil, suite, "psk_id_hash", nil), extract(nil, suite, "info_hash", info)...)
	context := append([]byte{0}, hashes...)
	secret := extract(shared, suite, "secret", nil)
	block, err := aes.NewCipher(expand(secret, suite, "key", context, 16))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(encapsulated, expand(secret, suite, "base_nonce", context, 12), plaintext, aad), nil
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// Keeps numbers as they are written.
func unmarshal(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}
