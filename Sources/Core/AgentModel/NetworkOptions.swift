/// Options of one stored network, set by its owner. No access point can change them.
public struct NetworkOptions: OptionSet, Hashable, Sendable {
    /// Bit mask. The bits must not change, because the key file contains them.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Permits access points with first-generation WPA or TKIP, for a network with a WPA2 password.
    public static let allowsTKIP = NetworkOptions(rawValue: 1)
    /// Keeps the device from joining a backup without a command.
    public static let isManual = NetworkOptions(rawValue: 2)
}

extension NetworkOptions {
    /// Change of a network's options. Nil keeps an option as it is.
    public struct Change: Hashable, Sendable {
        public var allowsTKIP: Bool?
        public var isAutomatic: Bool?

        public init(allowsTKIP: Bool? = nil, isAutomatic: Bool? = nil) {
            (self.allowsTKIP, self.isAutomatic) = (allowsTKIP, isAutomatic)
        }

        /// Change from the default options to `options`.
        public init(_ options: NetworkOptions) {
            self.init(
                allowsTKIP: options.contains(.allowsTKIP) ? true : nil,
                isAutomatic: options.contains(.isManual) ? false : nil)
        }

        public var isEmpty: Bool { self == Change() }
    }

    /// Returns the options after `change`.
    public func changed(by change: Change) -> NetworkOptions {
        var options = self
        if let allowsTKIP = change.allowsTKIP { options.set(.allowsTKIP, to: allowsTKIP) }
        if let isAutomatic = change.isAutomatic { options.set(.isManual, to: !isAutomatic) }
        return options
    }

    private mutating func set(_ option: NetworkOptions, to isSet: Bool) {
        if isSet { insert(option) } else { remove(option) }
    }
}
