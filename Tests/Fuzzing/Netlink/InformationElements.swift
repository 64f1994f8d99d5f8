import AgentModel

@testable import Netlink

extension FuzzTarget {
    /// A protected network is never taken for an open one, and an element that is unknown changes nothing.
    static let informationElements = FuzzTarget(
        "information-elements", "what an access point beacons: its name and how it is joined (RSN, WPA, OWE)",
        longest: 768, goal: 100_000_000, seeds: { ElementSample.all }
    ) { bytes in
        let elements = InformationElements(bytes[...])
        let open = elements.security(isPrivate: false)
        let isProtected = elements.rsn != nil || elements.wpa != nil || elements.hasBrokenSecurity
        precondition(!isProtected || open != .open, "a protected network passes for an open one")
        precondition(elements.security(isPrivate: true) != .open, "a private network passes for an open one")
        if let ssid = elements.ssid { check(ssid) }
        for unknown: [UInt8] in [[7, 2, 0x44, 0x45], [221, 3, 0, 0x50, 0xf2]] {
            precondition(InformationElements((unknown + bytes)[...]) == elements, "an unknown element counts")
        }
        if let body = SecurityElement(bytes[...]) {
            precondition(!body.pairwiseCiphers.isEmpty && !body.keyManagement.isEmpty)
        }
    }
}

private func check(_ ssid: SSID) {
    precondition((1...SSID.maximumLength).contains(ssid.bytes.count))
    precondition(ssid.description.unicodeScalars.allSatisfy(\.isPlain), "a name that cannot be shown")
}

private enum ElementSample {
    static let all: [[UInt8]] = [
        // WPA2, PSK and SAE, WPA, OWE's transition mode, an enterprise network, PMF required.
        "0004486f6d65 3014 0100 000fac04 0100 000fac04 0100 000fac02 0000",
        "0004486f6d65 3018 0100 000fac04 0100 000fac04 0200 000fac02 000fac08 8000",
        "0004486f6d65 dd16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202",
        "0003436166 dd0f 506f9a1c 020000000200 04 486f6d65",
        "3014 0100 000fac04 0100 000fac04 0100 000fac01 c000",
        "3018 0100 000fac04 0100 000fac04 0100 000fac12 c000 0000",
        "0020ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff 010882848b960c121824",
    ].map { Hex.bytes($0.filter { $0 != " " }) ?? [] }
}
