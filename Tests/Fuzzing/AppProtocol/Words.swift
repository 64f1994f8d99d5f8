import AgentModel
import AppProtocol
import Connectivity

extension FuzzTarget {
    /// The small things that are read out of others: what is read is the same once it is written, and nothing else is.
    static let words = FuzzTarget(
        "words", "addresses of IP and of the web, BSSIDs, times and hexadecimal digits, each by itself", longest: 128,
        seeds: {
            bytes([
                "192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "fe80::1", "02:00:00:00:01:00", "00ff",
                "2026-02-03T04:05:06.789Z", "2024-02-29T23:59:59.999999999Z", "https://a.example:8443/b?c=d#e",
                "http://[2001:db8::1]/", "//b.example/x", "../a/./b",
            ])
        }
    ) { bytes in
        let text = String(decoding: bytes, as: UTF8.self)
        if let address = IPAddress(text) {
            precondition(IPAddress(address.description) == address && IPAddress(bytes: address.bytes) == address)
        }
        if let bssid = BSSID(text) { precondition(BSSID(bssid.description) == bssid) }
        if let digits = Hex.bytes(text) { precondition(Hex.string(digits) == text.lowercased()) }
        if let time = Timestamp(text) { precondition(Timestamp(time.description) == time) }
        if let address = try? WebAddress(text) { check(address) }
        precondition(text.printable.unicodeScalars.allSatisfy(\.isPlain))
        if let ssid = try? SSID(bytes: bytes) { precondition(ssid.description.unicodeScalars.allSatisfy(\.isPlain)) }
    }
}

private func check(_ address: WebAddress) {
    precondition((1...65_535).contains(address.port) && address.target.hasPrefix("/"))
    guard address.description.utf8.count <= WebAddress.maximumLength else { return }
    precondition((try? WebAddress(address.description)) == address, "an address reads otherwise once it is written")
}
