package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

// Fault is an error that the device has answered, or the reason why the other side is not the device.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (fault *Fault) Error() string { return fault.Code + ": " + fault.Message }

// Pairing is a pairing code. Key has the raw bytes, and Cert is a SHA-256 or empty.
type Pairing struct {
	ID, Name  string
	Key, Cert []byte
}

func readPairing(code string) (*Pairing, error) {
	path, query, _ := strings.Cut(strings.TrimSpace(code), "?")
	values := map[string]string{"name": "owner"}
	for _, item := range strings.Split(query, "&") {
		name, text, _ := strings.Cut(item, "=")
		value, err := url.PathUnescape(text) // url.ParseQuery would make a plus sign a space.
		if err != nil {
			return nil, &Fault{"malformed", "the pairing code is damaged"}
		}
		values[name] = value
	}
	cert, err := hex.DecodeString(values["cert"])
	if err != nil || strings.ToLower(path) != "altnet://pair" || values["v"] != "1" || values["key"] == "" {
		return nil, &Fault{"malformed", "this is not a pairing code"}
	}
	return &Pairing{values["id"], values["name"], []byte(values["key"]), cert}, nil
}

func mac(key []byte, parts ...[]byte) []byte {
	hash := hmac.New(sha256.New, key)
	hash.Write(bytes.Join(parts, nil))
	return hash.Sum(nil)
}

func (pairing *Pairing) openingProof(side string, certificate, deviceNonce, appNonce []byte) []byte {
	return mac(pairing.Key, []byte("altnet/1 "+side), certificate, deviceNonce, appNonce, []byte(pairing.ID))
}

func (pairing *Pairing) agreementProof(publicKey, nonce []byte) []byte {
	return mac(pairing.Key, []byte("altnet/1 key"), publicKey, nonce, []byte(pairing.ID))
}

// Device is a session with a device.
type Device struct {
	pairing *Pairing
	conn    net.Conn
	lines   *bufio.Reader
	count   int
}

func open(address string, pairing *Pairing) (*Device, error) {
	var certificate [32]byte
	config := &tls.Config{
		NextProtos:         []string{"altnet"},
		InsecureSkipVerify: true, // The fingerprint is checked below.
		VerifyConnection: func(state tls.ConnectionState) error {
			certificate = sha256.Sum256(state.PeerCertificates[0].Raw)
			if len(pairing.Cert) > 0 && !bytes.Equal(pairing.Cert, certificate[:]) {
				return &Fault{"certificateChanged", "pair again if the device was reset; else this is another host"}
			}
			return nil
		},
	}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: 30 * time.Second}, "tcp", address, config)
	if err != nil {
		return nil, err
	}
	device := &Device{pairing, conn, bufio.NewReader(conn), 0}

	// Each side proves that it has the key. A proof is valid only for this certificate and this connection.
	var greeting struct{ Nonce []byte }
	if err := device.receive(&greeting); err != nil {
		return nil, err
	}
	nonce := make([]byte, 32)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	proof := func(side string) []byte { return pairing.openingProof(side, certificate[:], greeting.Nonce, nonce) }
	var opened struct{ Proof []byte }
	err = device.ask("session.open", object{
		"deviceId": pairing.ID, "key": pairing.Name, "nonce": nonce, "proof": proof("app")}, &opened)
	if err == nil && !hmac.Equal(opened.Proof, proof("device")) {
		err = &Fault{"notTheDevice", "the other side has not proved that it has the key"}
	}
	return device, err
}

func (device *Device) receive(into any) error {
	if err := device.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	line, err := device.lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var failure struct{ Error *Fault }
	if err := json.Unmarshal(line, &failure); err != nil {
		return err
	}
	if failure.Error != nil {
		return failure.Error
	}
	return json.Unmarshal(line, into)
}

// Reads the body of the answer. Skips events that come before it.
func (device *Device) ask(kind string, body, answer any) error {
	device.count++
	request := object{"v": 1, "id": strconv.Itoa(device.count), "type": kind}
	if body != nil {
		request["body"] = body
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := device.conn.Write(append(line, '\n')); err != nil {
		return err
	}
	for {
		var reply struct {
			Event string
			Body  json.RawMessage
		}
		if err := device.receive(&reply); err != nil {
			return err
		}
		if reply.Event == "" {
			return json.Unmarshal(reply.Body, answer)
		}
	}
}
