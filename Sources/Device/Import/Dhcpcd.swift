import AgentModel

/// Reads static addresses from dhcpcd's configuration (dhcpcd.conf(5), if-options.c).
public enum DhcpcdSource {
    public static func read(_ bytes: UnsafeRawBufferPointer, from source: String) -> SourceContents {
        reading(bytes, from: source) { text, contents throws(MalformedSource) in
            var blocks: [Block] = []
            var limits: [InterfacePattern] = []
            var settings = Settings(place: ImportLocation(source))
            var condition = Condition.all
            func end() {
                if let index = blocks.firstIndex(where: { $0.condition == condition }) {
                    blocks[index].settings.append(settings)
                } else if blocks.count < ImportLimits.addresses {
                    blocks.append(Block(condition: condition, settings: [settings]))
                }
            }
            for (number, line) in text.lines {
                let line = line.trimmed
                guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
                let (word, rest) = line.split { $0.isBlank } ?? (line, line.suffix(0))
                let value = rest.trimmed
                let place = ImportLocation(source, line: number)
                let name = word.text
                switch name {
                case "interface", "ssid", "profile":
                    end()
                    settings = Settings(place: place)
                    condition =
                        switch name {
                        case "interface": .interface(value.text ?? "")
                        case "ssid": .ssid(Array(value))
                        default: .profile(Array(value))
                        }
                case "static": settings.set(value, at: place)
                case "inform": settings.set(address: value.text ?? "?", at: place)
                case "nohook":
                    settings.isAccessPoint = settings.isAccessPoint || words(value).contains("wpa_supplicant")
                case "denyinterfaces": limits.append(InterfacePattern(names: words(value), isNegated: true))
                case "allowinterfaces": limits.append(InterfacePattern(names: words(value)))
                default: break
                }
            }
            end()
            let common = blocks.first { $0.condition == .all }?.settings ?? []
            // The last of two blocks for one interface counts.
            for block in blocks.reversed() { contents.add(block, common, Array(limits.prefix(ImportLimits.patterns))) }
        }
    }

    private static func words(_ value: SourceText) -> [String] {
        value.list { $0.isBlank || $0 == UInt8(ascii: ",") }.compactMap(\.text)
    }

    fileprivate enum Condition: Equatable {
        case all
        case interface(String)
        case ssid([UInt8])
        case profile([UInt8])
    }

    fileprivate struct Block {
        let condition: Condition
        var settings: [Settings]
    }

    fileprivate struct Settings {
        var place: ImportLocation
        var address: String?
        var mask: String?
        var gateway: String?
        var servers: [String] = []
        /// Whether dhcpcd starts no wpa_supplicant: the interface is an access point's.
        var isAccessPoint = false

        init(place: ImportLocation) { self.place = place }

        mutating func set(address value: String, at place: ImportLocation) {
            (address, self.place) = (value.split(separator: "/").prefix(2).joined(separator: "/"), place)
        }

        mutating func set(_ setting: SourceText, at place: ImportLocation) {
            guard let (key, value) = setting.split(at: UInt8(ascii: "=")), let value = value.trimmed.text else {
                return
            }
            switch key.text {
            case "ip_address": set(address: value, at: place)
            case "subnet_mask": mask = value
            case "routers": gateway = value.split(separator: " ").first.map(String.init)
            case "domain_name_servers":
                servers = value.split(whereSeparator: { ", ".contains($0) }).map(String.init)
            default: break
            }
        }

        /// Applies later settings.
        mutating func add(_ other: Settings) {
            if other.address != nil { (address, place) = (other.address, other.place) }
            mask = other.mask ?? mask
            gateway = other.gateway ?? gateway
            if !other.servers.isEmpty { servers = other.servers }
            isAccessPoint = isAccessPoint || other.isAccessPoint
        }

        var draft: AddressDraft {
            var draft = AddressDraft()
            guard let address, !address.isEmpty, !isAccessPoint else { return draft }
            let host = address.split(separator: "/").first.map(String.init) ?? address
            draft.addresses = [AddressDraft.withPrefix(mask == nil ? address : host, mask: mask)]
            (draft.gateway, draft.servers) = (gateway, servers)
            return draft
        }
    }
}

extension SourceContents {
    fileprivate mutating func add(
        _ block: DhcpcdSource.Block, _ common: [DhcpcdSource.Settings], _ limits: [InterfacePattern]
    ) {
        guard let first = block.settings.first else { return }
        var interfaces = limits
        var ssid: SSID?
        switch block.condition {
        case .all: break
        case .interface(let pattern): interfaces.append(InterfacePattern(names: [pattern]))
        case .ssid(let name):
            guard let name = try? SSID(bytes: name) else { return }
            ssid = name
        case .profile: return
        }
        let parts = block.condition == .all ? block.settings : common + block.settings
        let settings = parts.reduce(into: DhcpcdSource.Settings(place: first.place)) { $0.add($1) }
        add(settings.draft, of: interfaces, in: ssid, settings.place)
    }

    /// Adds an address that is configured apart from the networks, unless it is that of a wired interface.
    mutating func add(
        _ draft: AddressDraft, of interfaces: [InterfacePattern], in ssid: SSID? = nil, isDHCP: Bool = false,
        _ place: ImportLocation
    ) {
        var separate = SeparateAddress(interfaces: interfaces, ssid: ssid, address: nil, place: place)
        guard addresses.count < ImportLimits.addresses, separate.applies(to: []) else { return }
        switch isDHCP ? .none : draft.outcome {
        case .none: if isDHCP { addresses.append(separate) }
        case .address(let address):
            separate = SeparateAddress(interfaces: interfaces, ssid: ssid, address: address, place: place)
            addresses.append(separate)
        case .failure(let reason): findings.append(ImportFinding(place, ssid, reason))
        }
    }
}

extension SourceText {
    fileprivate func split(_ isSeparator: (UInt8) -> Bool) -> (SourceText, SourceText)? {
        firstIndex(where: isSeparator).map { (self[..<$0], self[($0 + 1)...]) }
    }
}
