import AgentModel

@testable import Supplicant

extension FuzzTarget {
    /// The events of a join, and the same bytes as the answer to each kind of command: numbers are in their range, what
    /// ends up in a log can be shown, and names survive.
    static let supplicant = FuzzTarget(
        "supplicant", "events and answers of wpa_supplicant, which repeat what access points sent", longest: 1024,
        seeds: { bytes(SupplicantSample.all) }
    ) { bytes in
        var progress = JoinProgress(network: 0)
        var configurator = EasyConnectReception()
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let event = ControlEvent.isEvent(line) ? ControlEvent.text(of: line) : nil
            let text = event ?? String(decoding: line, as: UTF8.self)[...]
            check(ControlEvent(text))
            _ = progress.handle(ControlEvent(text))
            if case .easyConnect(let line) = ControlEvent(text) { check(configurator.handle(line)) }
            _ = progress.silentFailure
            checkWords(PrintableLine.of(text))
        }
        for command in [ControlCommand.attach, .addNetwork, .status] { answer(bytes, to: command) }
        readNames(bytes)
    }
}

private func check(_ event: EasyConnectEvent?) {
    switch event {
    case .network(let network):
        precondition((1...32).contains(network.ssid.bytes.count) && (1...128).contains(network.password.count))
    case .failed(let reason): precondition(reason.utf8.count <= PrintableLine.maximumLength)
    case .authenticated, nil: break
    }
}

private func check(_ event: ControlEvent) {
    let range = 0...0xffff
    switch event {
    case .authenticationRejected(let refusal):
        precondition([refusal.algorithm, refusal.transaction, refusal.status].allSatisfy(range.contains))
    case .associationRejected(let status, _): precondition(range.contains(status))
    case .connected(let network, _): precondition(network.map(range.contains) ?? true)
    case .disconnected(let reason, _): precondition(range.contains(reason))
    case .temporarilyDisabled(let network, _): precondition(range.contains(network))
    default: break
    }
}

private func answer(_ bytes: [UInt8], to command: ControlCommand) {
    do throws(SupplicantError) {
        switch try ControlAnswer(bytes, to: command) {
        case .ok: break
        case .number(let number): precondition(number >= 0)
        case .text(let text):
            let status = SupplicantStatus(text)
            precondition(SupplicantStatus(text) == status)
            precondition(status.link == nil || status.state == .completed)
            status.keyManagement.map(checkWords)
            _ = NetworkList.numbers(in: text)
        }
    } catch {
        precondition(error.description.utf8.count < 400)
    }
}

/// The bytes as wpa_supplicant would print them, and read again.
private func readNames(_ bytes: [UInt8]) {
    _ = SSID.bytes(printedBySupplicant: String(decoding: bytes, as: UTF8.self))
    var printed: [UInt8] = []
    for byte in bytes {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): printed += [UInt8(ascii: "\\"), byte]
        case 0x20...0x7e: printed.append(byte)
        default: printed += Array("\\x".utf8) + [digit(byte >> 4), digit(byte & 0xf)]
        }
    }
    let text = String(decoding: printed, as: UTF8.self)
    precondition(SSID.bytes(printedBySupplicant: text) == bytes, "a name reads otherwise than it was printed")
}

private func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }

private func checkWords(_ text: String) {
    precondition(text.utf8.count <= PrintableLine.maximumLength && text.utf8.allSatisfy { (0x20...0x7e).contains($0) })
}

private enum SupplicantSample {
    static let all = [
        """
        <3>CTRL-EVENT-SCAN-STARTED
        <3>SME: Trying to authenticate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)
        <3>Trying to associate with 02:00:00:00:01:00 (SSID='Home' freq=2412 MHz)
        <3>Associated with 02:00:00:00:01:00
        <3>CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]
        <3>CTRL-EVENT-DISCONNECTED bssid=02:00:00:00:01:00 reason=3 locally_generated=1
        """,
        """
        <3>CTRL-EVENT-AUTH-REJECT 02:00:00:00:01:00 auth_type=3 auth_transaction=2 status_code=15 ie=0102
        <3>CTRL-EVENT-ASSOC-REJECT bssid=02:00:00:00:01:00 status_code=17 timeout=assoc
        <3>CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="Home" auth_failures=1 duration=10 reason=WRONG_KEY
        <3>Authentication with 02:00:00:00:01:00 timed out.
        <3>CTRL-EVENT-NETWORK-NOT-FOUND
        """,
        """
        <3>WNM: Disassociation Imminent - Disassociation Timer 20
        <3>WNM: Preferred List Available
        <3>RRM-NEIGHBOR-REP-RECEIVED bssid=02:00:00:00:02:00 info=0x0 op_class=81 chan=6 phy_type=7
        """,
        """
        bssid=02:00:00:00:01:00
        freq=2412
        ssid=Caf\\xc3\\xa9 \\"x\\\\
        id=0
        key_mgmt=WPA2-PSK
        wpa_state=COMPLETED

        """,
        """
        <3>DPP-AUTH-SUCCESS init=0
        <3>DPP-CONF-RECEIVED
        <3>DPP-CONFOBJ-AKM psk+sae
        <3>DPP-CONFOBJ-SSID Caf\\xc3\\xa9
        <3>DPP-CONFOBJ-PASS 6161616161616161
        <3>DPP-CONF-FAILED
        """,
        "network id / ssid / bssid / flags\n0\tHome\tany\t[CURRENT]\n12\tCaf\\xc3\tany\t[DISABLED]\n", "OK\n", "12\n",
        "FAIL-BUSY\n", "UNKNOWN COMMAND\n",
    ]
}
