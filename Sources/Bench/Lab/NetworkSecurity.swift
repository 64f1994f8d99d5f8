/// How a network in the lab authenticates its stations. The passwords are made up and guard nothing.
public enum NetworkSecurity: Hashable, Sendable {
    case open
    /// WPA2 with a pre-shared key.
    case wpa2(String)
    /// WPA3: SAE only, management frames protected.
    case wpa3(String)
    /// WPA2 and WPA3 side by side.
    case transition(String)

    /// What a person types in; nil for an open network.
    public var password: String? {
        switch self {
        case .open: nil
        case .wpa2(let password), .wpa3(let password), .transition(let password): password
        }
    }

    func replacing(password: String) -> NetworkSecurity {
        switch self {
        case .open: .open
        case .wpa2: .wpa2(password)
        case .wpa3: .wpa3(password)
        case .transition: .transition(password)
        }
    }
}
