// Names of the previous version, for apps that are built from source. Gone in the next one.

@available(*, deprecated, renamed: "SetupAccessPointStatus")
public typealias RescueStatus = SetupAccessPointStatus

@available(*, deprecated, renamed: "SetupAccessPointRequest")
public typealias RescueRequest = SetupAccessPointRequest

@available(*, deprecated, renamed: "SetupAccessPointCredentials")
public typealias DeviceAccessPoint = SetupAccessPointCredentials
