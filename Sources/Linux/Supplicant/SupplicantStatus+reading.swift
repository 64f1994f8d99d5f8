import AgentModel

extension SupplicantStatus {
    /// Reads the answer to `STATUS`: lines of `key=value`, of which any may be missing.
    init(_ text: String) {
        var fields: [Substring: Substring] = [:]
        for line in text.split(separator: "\n") {
            guard let separator = line.firstIndex(of: "=") else { continue }
            fields[line[..<separator]] = line[line.index(after: separator)...]
        }
        state = fields["wpa_state"].flatMap { State(rawValue: String($0)) } ?? .unknown
        networkID = fields["id"].flatMap { Int($0) }
        ssid = fields["ssid"].flatMap { try? SSID(bytes: SSID.bytes(printedBySupplicant: $0)) }
        bssid = fields["bssid"].flatMap { BSSID($0) }
        frequency = fields["freq"].flatMap { Int($0) }.map { Frequency(megahertz: $0) }
        keyManagement = fields["key_mgmt"].map { PrintableLine.of($0) }
        usesTKIP = [fields["pairwise_cipher"], fields["group_cipher"]].contains("TKIP")
        protection = state == .completed ? Self.protection(fields) : []
    }

    /// Names as in hostap, wpa_key_mgmt_txt. `pmf` is there where the link has it: 1 if the access point does not insist, 2 if
    /// it does (wpa_sm_get_status).
    private static func protection(_ fields: [Substring: Substring]) -> LinkProtection {
        var protection: LinkProtection = []
        switch fields["key_mgmt"] {
        case "SAE", "FT-SAE", "SAE-EXT-KEY", "FT-SAE-EXT-KEY": protection.insert(.sae)
        case "OWE": protection.insert(.owe)
        default: break
        }
        if let pmf = fields["pmf"].flatMap({ Int($0) }), pmf > 0 { protection.insert(.pmf) }
        return protection
    }

    /// The access point of the link that is up.
    var link: BSSID? { state == .completed ? bssid : nil }
}
