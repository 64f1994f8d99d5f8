// Asks an altnet device in the network, with Go's standard library alone (1.20 or newer).
//
//	go run . HOST PORT KEY_FILE TYPE [BODY]     such as:  go run . 192.0.2.7 25863 lamp.key network.get
//	go run . --check ../vectors.json
//
// KEY_FILE holds a pairing code: altnet://pair?v=1&id=...&key=...&cert=... Passwords in BODY are sealed. An error is
// one line, `code: message`, with exit status 1.
package main

import (
	"bytes"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
)

func run(arguments []string) error {
	if len(arguments) == 2 && arguments[0] == "--check" {
		return check(arguments[1])
	}
	if len(arguments) < 4 {
		return errors.New("HOST PORT KEY_FILE TYPE [BODY] are needed")
	}
	code, err := os.ReadFile(arguments[2])
	if err != nil {
		return err
	}
	pairing, err := readPairing(string(code))
	if err != nil {
		return err
	}
	var body any
	if len(arguments) > 4 {
		if err := unmarshal([]byte(arguments[4]), &body); err != nil {
			return err
		}
	}
	device, err := open(net.JoinHostPort(arguments[0], arguments[1]), pairing)
	if err != nil {
		return err
	}
	defer device.conn.Close()
	var answer json.RawMessage
	if err := device.askSealed(arguments[3], body, &answer); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, answer, "", "  "); err != nil {
		return err
	}
	fmt.Println(text.String())
	return nil
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		var fault *Fault
		if !errors.As(err, &fault) {
			err = fmt.Errorf("failed: %w", err)
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type vectors struct {
	Pairing []struct{ Code, DeviceID, Name, Key, Cert string }
	Opening struct {
		Code                                                      string
		Certificate, DeviceNonce, AppNonce, AppProof, DeviceProof []byte
	}
	Agreement struct {
		Code                    string
		PublicKey, Nonce, Proof []byte
	}
	Sealing []struct {
		Code, Type, EphemeralKey string
		Body, SealedBody         object
		Sealing                  Sealing
	}
}

// Compares the computed values with the vectors.
func check(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var vectors vectors
	if err := unmarshal(data, &vectors); err != nil {
		return err
	}
	differs := []string{}
	expect := func(what string, is bool) {
		if !is {
			differs = append(differs, what)
		}
	}
	pairings := map[string]*Pairing{}
	read := func(code string) *Pairing {
		if pairings[code] == nil {
			pairing, err := readPairing(code)
			expect(code, err == nil)
			if pairing == nil {
				pairing = &Pairing{}
			}
			pairings[code] = pairing
		}
		return pairings[code]
	}
	for _, vector := range vectors.Pairing {
		is := read(vector.Code)
		expect("id and name", is.ID == vector.DeviceID && is.Name == vector.Name)
		expect("key", hex.EncodeToString(is.Key) == vector.Key)
		expect("cert", hex.EncodeToString(is.Cert) == vector.Cert)
	}
	opening, agreement := vectors.Opening, vectors.Agreement
	certificate := sha256.Sum256(opening.Certificate)
	for side, proof := range map[string][]byte{"app": opening.AppProof, "device": opening.DeviceProof} {
		is := read(opening.Code).openingProof(side, certificate[:], opening.DeviceNonce, opening.AppNonce)
		expect("the proof of the "+side, bytes.Equal(is, proof))
	}
	proof := read(agreement.Code).agreementProof(agreement.PublicKey, agreement.Nonce)
	expect("the proof of the key to seal with", bytes.Equal(proof, agreement.Proof))
	for _, vector := range vectors.Sealing {
		raw, err := hex.DecodeString(vector.EphemeralKey)
		if err != nil {
			return err
		}
		ephemeral, err := ecdh.X25519().NewPrivateKey(raw)
		if err != nil {
			return err
		}
		err = seal(vector.Type, vector.Body, func(place string, network object) error {
			return read(vector.Code).seal(place, network, vector.Body, &vector.Sealing, ephemeral)
		})
		if err != nil {
			return err
		}
		expect(vector.Type, reflect.DeepEqual(vector.Body, vector.SealedBody))
	}
	if len(differs) > 0 {
		return errors.New(fmt.Sprint("not as in the vectors: ", differs))
	}
	fmt.Println("ok")
	return nil
}
