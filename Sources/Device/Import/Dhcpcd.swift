import AgentModel

/// Reads static addresses from dhcpcd's configuration (dhcpcd.conf(5)).
public enum DhcpcdSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var block = Block(place: ImportLocation(source))
            for (number, line) in text.lines {
                let line = line.trimmed
                guard let first = line.first, first != UInt8(ascii: "#") else { continue }
                let (word, rest) = line.split { $0.isBlank } ?? (line, line.suffix(0))
                let value = unquoted(rest.trimmed)
                switch word.text {
                case "interface", "ssid", "profile":
                    contents.end(block)
                    block = Block(place: ImportLocation(source, line: number))
                    block.isApplied = word.text != "profile"
                    if word.text == "ssid" { block.ssid = Array(value) } else { block.interface = value.text }
                case "static": block.set(value, at: ImportLocation(source, line: number))
                default: break
                }
            }
            contents.end(block)
        }
    }

    private static func unquoted(_ value: SourceText) -> SourceText {
        let quote = UInt8(ascii: "\"")
        guard value.count > 1, value.first == quote, value.last == quote else { return value }
        return value.dropFirst().dropLast()
    }

    fileprivate struct Block {
        var place: ImportLocation
        var interface: String?
        var ssid: [UInt8]?
        var isApplied = true
        var address = AddressDraft()

        mutating func set(_ setting: SourceText, at place: ImportLocation) {
            guard let (key, value) = setting.split(at: UInt8(ascii: "=")), let value = value.trimmed.text else {
                return
            }
            switch key.trimmed.text {
            case "ip_address":
                address.addresses = [value.contains("/") ? value : value + "/24"]
                self.place = place
            case "routers": address.gateway = value.split(separator: " ").first.map(String.init)
            case "domain_name_servers": address.servers = value.split(separator: " ").map(String.init)
            default: break
            }
        }
    }
}

extension SourceContents {
    fileprivate mutating func end(_ block: DhcpcdSource.Block) {
        guard block.isApplied, addresses.count < ImportLimits.networks else { return }
        let ssid = block.ssid.flatMap { try? SSID(bytes: $0) }
        guard block.ssid == nil || ssid != nil else { return }
        switch block.address.outcome {
        case .none: break
        case .address(let address):
            addresses.append(
                SeparateAddress(interface: block.interface, ssid: ssid, address: address, place: block.place))
        case .failure(let reason): findings.append(ImportFinding(block.place, ssid, reason))
        }
    }
}

extension SourceText {
    fileprivate func split(_ isSeparator: (UInt8) -> Bool) -> (SourceText, SourceText)? {
        firstIndex(where: isSeparator).map { (self[..<$0], self[($0 + 1)...]) }
    }
}
