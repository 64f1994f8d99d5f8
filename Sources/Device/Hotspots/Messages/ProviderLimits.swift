import AppProtocol

/// The bounds that agent, host and providers keep to. What exceeds one is refused as a whole. Names, and what a person is
/// asked and answers, go on to apps, whose bounds hold for them.
public enum ProviderLimits {
    /// The protocol version spoken here: the `v` of every line.
    public static let version = 1
    /// The most providers that are looked at; those whose names come first.
    public static let providers = ProtocolLimits.providers
    /// The length of a provider's name in bytes: its file's, of letters, digits, `-`, `_` and `.`, which does not begin it.
    public static let nameLength = ProtocolLimits.providerNameLength
    /// The most networks in one `filterScanList`.
    public static let scannedNetworks = 128
    /// The longest URL in bytes.
    public static let urlLength = ProtocolLimits.portalURLLength
    /// The longest title, label and reason, and the longest message, in bytes of UTF-8.
    public static let titleLength = ProtocolLimits.portalTitleLength
    public static let messageLength = ProtocolLimits.portalMessageLength
    /// The most fields that a person may be asked to fill in, and the longest name of one, in bytes of UTF-8.
    public static let fields = ProtocolLimits.portalFields
    public static let fieldNameLength = ProtocolLimits.portalNameLength
    /// The longest value that a person gives, in bytes of UTF-8.
    public static let valueLength = ProtocolLimits.portalValueLength
    /// The longest text that a provider may keep about a sign-in, in bytes of UTF-8.
    public static let sessionLength = 4096
    /// For how many seconds a provider may ask to be left alone. Another number reads as the nearest of these.
    public static let seconds = 1...86_400

    /// Whether a provider can be called this.
    public static func isName(_ name: some StringProtocol) -> Bool {
        nameLength.contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
